CREATE TABLE `account_creations` (
	`seq` integer PRIMARY KEY NOT NULL,
	`origin` text NOT NULL,
	`created_at` integer NOT NULL
);
CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`live_activities` integer NOT NULL,
	`token_digest` text NOT NULL,
	`change_id` text NOT NULL,
	`deleted_at` integer
, `address_uses` text DEFAULT '[]' NOT NULL);
INSERT INTO "accounts" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2',1790000000000,1,'nle4Mow_wMpGtoyVrRVK-JXUYWo31tDn9ASRCAfYBEE','EGnlY2PuWXQY4',NULL,'[]');
INSERT INTO "accounts" VALUES('acc_01a0c4506c00738789e8124552c1e958',1790000000000,1,'Dju2yQSUlfNM52e_38vcV7Ivavrl_kpHggjDaTFx330','EGnlY2PuWXQY5',NULL,'[]');
CREATE TABLE `activity_blocks` (
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`at` integer NOT NULL,
	`size` integer NOT NULL,
	`entries` text NOT NULL
);
INSERT INTO "activity_blocks" VALUES('act_01a0c4506c647001be3482421fc702dc','key_01a0c4506c007388af8a797d63692662',1790000000000,1,'[[1790000000000,"rest","POST /v1/tasks",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c450781c7069995e19f4f2243839','key_01a0c4506c007384a21d838740995069',1790000003000,6,'[[1790000003000,"rest","POST /v1/tasks",0],[1790000003000,"rest","POST /v1/tasks",0],[1790000003000,"rest","POST /v1/tasks",0],[1790000003000,"rest","PATCH /v1/tasks/{task_id}",0],[1790000003000,"rest","POST /v1/questions",0],[1790000003000,"rest","POST /v1/questions",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c450781c706aa35db30cd7c5a2f2','key_01a0c4506c007385b583d6eb1ac00a0c',1790000003000,5,'[[1790000003000,"rest","POST /v1/tasks",0],[1790000003000,"rest","POST /v1/questions",0],[1790000003000,"rest","POST /v1/questions",0],[1790000003000,"rest","POST /v1/questions",0],[1790000003000,"rest","DELETE /v1/questions/{question_id}",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c4507c047180b509255365cda279','key_01a0c4506c007384a21d838740995069',1790000004000,2,'[[1790000004000,"rest","POST /v1/messages",0],[1790000004000,"rest","PUT /v1/keys/{key_id}/webhook",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c4507c047181b2b31ad3a4ec41a8','key_01a0c4507ba071cd87ba6331e0cc5fe3',1790000004000,1,'[[1790000004000,"rest","POST /v1/tasks",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c45179ec71fdb244795196290752','key_01a0c4506c007384a21d838740995069',1790000069000,1,'[[1790000069000,"rest","GET /v1/inbox",0]]');
INSERT INTO "activity_blocks" VALUES('act_01a0c451c7a87386a27345acc0db5176','key_01a0c4506c007384a21d838740995069',1790000089000,3,'[[1790000003000,"mcp","approve_action",86000],[1790000089000,"rest","POST /v1/questions",0],[1790000089000,"rest","PATCH /v1/tasks/{task_id}",0]]');
CREATE TABLE `approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`code_digest` text NOT NULL,
	`secret_digest` text NOT NULL,
	`request` text NOT NULL,
	`address` text NOT NULL,
	`status` text NOT NULL,
	`grant_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`change_id` text NOT NULL
);
CREATE TABLE `challenges` (
	`challenge` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
CREATE TABLE `channels` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`session_id` text,
	`type` text NOT NULL,
	`label` text NOT NULL,
	`sends` text NOT NULL,
	`min_priority` text NOT NULL,
	`quiet_hours` text,
	`state` text NOT NULL,
	`secret` text NOT NULL,
	`endpoint_digest` text,
	`origin` text NOT NULL,
	`host` text NOT NULL,
	`hint` text NOT NULL,
	`last_sent_at` integer,
	`error_code` text,
	`error_at` integer,
	`failures` integer DEFAULT 0 NOT NULL,
	`missed` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`change_id` text NOT NULL,
	`confirmed_at` integer,
	`tests` text DEFAULT '[]' NOT NULL,
	`queued` integer DEFAULT 0 NOT NULL,
	`attempts` text DEFAULT '[]' NOT NULL,
	`held_until` integer,
	`claimed_at` integer
, `replaces` integer DEFAULT false NOT NULL, `key_id` text, `set_by` text, `due_at` integer);
INSERT INTO "channels" VALUES('chn_01a0c4507ba071c88c99b0bf89a31f1b','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'ntfy','Phone','["questions","tasks"]','low',NULL,'failing','{"url":"http://127.0.0.1:9/topic","address":"{\"server\":\"http://127.0.0.1:9\",\"topic\":\"topic\",\"token\":null,\"buttons\":false}"}',NULL,'http://127.0.0.1:9','127.0.0.1:9','opic',NULL,'unreachable',1790000080800,5,0,1790000004000,'EGnlY2PuWXQY11',NULL,'[]',0,'[]',NULL,NULL,0,NULL,NULL,NULL);
INSERT INTO "channels" VALUES('chn_01a0c4507ba071c9837ade90691f522f','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'webhook','CI','["questions","tasks"]','low',NULL,'failing','{"url":"http://127.0.0.1:9/hook","secret":"whsec_IasyGCo/sbKYgyoqSqVh0nUbcYGCipPb/EbY9KSWFz4="}',NULL,'http://127.0.0.1:9','127.0.0.1:9','hook',NULL,'unreachable',1790000086590,4,0,1790000004000,'EGnlY2PuWXQY12',NULL,'[]',9,'[1790000060730.0,1790000084000.0]',NULL,1790000084000,0,NULL,NULL,1790000127590);
INSERT INTO "channels" VALUES('chn_01a0c4507ba071cb9b1c67f6abf789bc','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'key_webhook','','["questions","tasks"]','low',NULL,'failing','{"url":"http://127.0.0.1:9/inbox","secret":"whsec_mi7HtB+rpGqSiCq13qX6aB9Y+7SgPPcu7MzuQcTT0fc="}',NULL,'http://127.0.0.1:9','127.0.0.1:9','nbox',NULL,'unreachable',1790000086590,4,0,1790000004000,'EGnlY2PuWXQY14',NULL,'[]',3,'[1790000060730.0,1790000084000.0]',NULL,1790000084000,0,'key_01a0c4506c007384a21d838740995069','secret',1790000127590);
CREATE TABLE `credentials` (
	`digest` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text,
	`label` text,
	`made_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`last_host` text,
	`last_client` text,
	`expires_at` integer
, `grant_id` text, `replaced_at` integer, `address` text, `confirmed_at` integer) WITHOUT ROWID;
INSERT INTO "credentials" VALUES('-Z7DlhEHaV2mwaDcSZk-jfjzAT3b6rUWYuFve2E097A','ses_01a0c4506c007386b1a1257183145e18','account_token','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Tablet','pairing',1790000000000,1790000000000,NULL,NULL,NULL,NULL,NULL,'127.0.0.1',NULL);
INSERT INTO "credentials" VALUES('7PaPdnjRN3gawzGtdiKzQrykn8m5DsW_JurhQbIlBAM','crd_01a0c4506c00749aa26f6fe4951ffe51','key_secret','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007384a21d838740995069',NULL,'account',1790000000000,1790000069000,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('Dju2yQSUlfNM52e_38vcV7Ivavrl_kpHggjDaTFx330','ses_01a0c4506c007f99ac4c210c852736d0','account_token','acc_01a0c4506c00738789e8124552c1e958',NULL,NULL,'account',1790000000000,1790000000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('HBVZFo2vQkeOLRJjhu6aqJmbXk_vkAbj0r9Mc-nsrBM','crd_01a0c4506c007d14a4e5e64bf1c16cb8','key_secret','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007385b583d6eb1ac00a0c',NULL,'account',1790000000000,1790000003000,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('LfFLn7vw9mwC70bwjgs3Zm89TpZ_y0Kp2-Z7rhHWg7s','crd_01a0c4506c0079c0a86b61929a7a9434','key_secret','acc_01a0c4506c00738789e8124552c1e958','key_01a0c4506c007388af8a797d63692662',NULL,'account',1790000000000,1790000000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('NLdPgRG5ctarKpSEMY0MbgDdmM_9Gi8xidSfNYQRdDU','crd_01a0c4507ba071cf9ff4aed5e2a49a91','oauth_access','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3',NULL,'account',1790000004000,1790000004000,NULL,NULL,1790086404000,'grt_01a0c4507ba071ce88401e79f3cf88ba',NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('SqzpGuiBiclqGM2cGqT_p6_keYXkZQrMEu7Hfdz3seE','crd_01a0c4507ba079dfab016bbdb0212249','key_secret','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3',NULL,'account',1790000004000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('nle4Mow_wMpGtoyVrRVK-JXUYWo31tDn9ASRCAfYBEE','ses_01a0c4506c007c14a60c81cd2d73038a','account_token','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,NULL,'account',1790000000000,1790000069000,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "credentials" VALUES('scbOoGhz_YhK7VTJ4juW2ivTVhHBgTQ_ZAQnWCfICVk','crd_01a0c4507ba071d0837979153c597763','oauth_refresh','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3',NULL,'account',1790000004000,NULL,NULL,NULL,1795184004000,'grt_01a0c4507ba071ce88401e79f3cf88ba',NULL,NULL,NULL);
CREATE TABLE `devices` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`platform` text NOT NULL,
	`model` text NOT NULL,
	`os_version` text NOT NULL,
	`app_version` text NOT NULL,
	`apns_environment` text NOT NULL,
	`apns_token` text,
	`push_to_start_token` text,
	`widget_push_token` text,
	`updated_at` integer NOT NULL, `session_id` text,
	PRIMARY KEY(`account_id`, `id`)
);
INSERT INTO "devices" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','ios','iPhone18,1','27.1','1.4.0','sandbox','aa01','bb02','cc03',1790000000000,'ses_01a0c4506c007c14a60c81cd2d73038a');
INSERT INTO "devices" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','dev_22222222-2222-4222-8222-222222222222','ipados','iPhone18,1','27.1','1.4.0','production','dd04',NULL,NULL,1790000000000,'ses_01a0c4506c007386b1a1257183145e18');
CREATE TABLE `ended_tokens` (
	`digest` text PRIMARY KEY NOT NULL,
	`owner` text,
	`ended_at` integer NOT NULL
);
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`subject` text NOT NULL,
	`name` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL
);
INSERT INTO "events" VALUES(1,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007384a21d838740995069','key.created','{"key":{"id":"key_01a0c4506c007384a21d838740995069","label":"builder","prefix":"mck_nl0Z","last4":"G054","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000000000);
INSERT INTO "events" VALUES(2,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007385b583d6eb1ac00a0c','key.created','{"key":{"id":"key_01a0c4506c007385b583d6eb1ac00a0c","label":"checker","prefix":"mck_V8su","last4":"2Tks","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000000000);
INSERT INTO "events" VALUES(3,'acc_01a0c4506c0073838fe8b523ba7646a2','ses_01a0c4506c007386b1a1257183145e18','session.created','{"session":{"id":"ses_01a0c4506c007386b1a1257183145e18","label":"Tablet","current":false,"made_by":"pairing","created_at":1790000000,"last_used_at":null,"trial_ends_at":1790000600,"address":"127.0.0.1"}}',1790000000000);
INSERT INTO "events" VALUES(4,'acc_01a0c4506c00738789e8124552c1e958','key_01a0c4506c007388af8a797d63692662','key.created','{"key":{"id":"key_01a0c4506c007388af8a797d63692662","label":"elsewhere","prefix":"mck_xQXN","last4":"DcWU","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000000000);
INSERT INTO "events" VALUES(5,'acc_01a0c4506c00738789e8124552c1e958','tsk_01a0c4506c007389a76a6430df0990bf','task.created','{"task":{"id":"tsk_01a0c4506c007389a76a6430df0990bf","key_id":"key_01a0c4506c007388af8a797d63692662","title":"Not ours","description":"","status":"todo","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":null,"seen_at":1790000000,"host":null}}',1790000000000);
INSERT INTO "events" VALUES(6,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c00738ab925ac50594d6618','key.created','{"key":{"id":"key_01a0c4506c00738ab925ac50594d6618","label":"gone","prefix":"mck_v549","last4":"CF9s","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000000000);
INSERT INTO "events" VALUES(7,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c4506c00738b8ad8a6e54ce72395','task.created','{"task":{"id":"tsk_01a0c4506c00738b8ad8a6e54ce72395","key_id":"key_01a0c4506c00738ab925ac50594d6618","title":"Of a deleted key","description":"","status":"todo","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":null,"seen_at":1790000000,"host":null}}',1790000000000);
INSERT INTO "events" VALUES(8,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ed908730c9024dba1b','task.created','{"task":{"id":"tsk_01a0c45077b870ed908730c9024dba1b","key_id":"key_01a0c4506c007384a21d838740995069","title":"Ship version 2","description":"All of it","status":"in_progress","priority":"high","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000003,"updated_at":1790000003,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(9,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ee84c705b32c871777','task.created','{"task":{"id":"tsk_01a0c45077b870ee84c705b32c871777","key_id":"key_01a0c4506c007384a21d838740995069","title":"Write notes","description":"","status":"todo","priority":"medium","notify":false,"progress":null,"status_note":null,"source":"agent","created_at":1790000003,"updated_at":1790000003,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(10,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ef989f804cee5b7f29','task.created','{"task":{"id":"tsk_01a0c45077b870ef989f804cee5b7f29","key_id":"key_01a0c4506c007384a21d838740995069","title":"Done already","description":"","status":"done","priority":"medium","notify":true,"progress":100,"status_note":null,"source":"agent","created_at":1790000003,"updated_at":1790000003,"completed_at":1790000003,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(11,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870f093862fd40274b38c','task.created','{"task":{"id":"tsk_01a0c45077b870f093862fd40274b38c","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","title":"Cancelled","description":"","status":"cancelled","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000003,"updated_at":1790000003,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(12,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ed908730c9024dba1b','task.updated','{"task":{"id":"tsk_01a0c45077b870ed908730c9024dba1b","key_id":"key_01a0c4506c007384a21d838740995069","title":"Ship version 2","description":"All of it","status":"in_progress","priority":"high","notify":true,"progress":40,"status_note":"Half way","source":"agent","created_at":1790000003,"updated_at":1790000003.001,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(13,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ee84c705b32c871777','task.updated','{"task":{"id":"tsk_01a0c45077b870ee84c705b32c871777","key_id":"key_01a0c4506c007384a21d838740995069","title":"Write notes","description":"","status":"todo","priority":"low","notify":false,"progress":null,"status_note":null,"source":"agent","created_at":1790000003,"updated_at":1790000003.001,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000003000);
INSERT INTO "events" VALUES(14,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007384a21d838740995069 inbox','inbox.updated','{"key_id":"key_01a0c4506c007384a21d838740995069","unread":1}',1790000003000);
INSERT INTO "events" VALUES(15,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f297aef1902bda4d1b','question.created','{"question":{"id":"qst_01a0c45077b870f297aef1902bda4d1b","key_id":"key_01a0c4506c007384a21d838740995069","task_id":"tsk_01a0c45077b870ed908730c9024dba1b","prompt":"Which *way*?","kind":"choice","options":["Left","Right"],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790086403,"url":"https://example.com/x","allow_other":true,"fallback":"I go left","context_omitted":true}}',1790000003000);
INSERT INTO "events" VALUES(16,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f39c323bcf69ed41fc','question.created','{"question":{"id":"qst_01a0c45077b870f39c323bcf69ed41fc","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Really?","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790086403,"request_id":"r1"}}',1790000003000);
INSERT INTO "events" VALUES(17,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f48a6ceea82a9bb1ec','question.created','{"question":{"id":"qst_01a0c45077b870f48a6ceea82a9bb1ec","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Say something","kind":"text","options":[],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790003603}}',1790000003000);
INSERT INTO "events" VALUES(18,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f5b84e258bd7513c5e','question.created','{"question":{"id":"qst_01a0c45077b870f5b84e258bd7513c5e","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Ends","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000063}}',1790000003000);
INSERT INTO "events" VALUES(19,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f69de03f49c9df96cc','question.created','{"question":{"id":"qst_01a0c45077b870f69de03f49c9df96cc","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Cancelled?","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790003603}}',1790000003000);
INSERT INTO "events" VALUES(20,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f69de03f49c9df96cc','question.updated','{"question":{"id":"qst_01a0c45077b870f69de03f49c9df96cc","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Cancelled?","kind":"confirm","options":["Yes","No"],"status":"cancelled","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790003603}}',1790000003000);
INSERT INTO "events" VALUES(21,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f78d5087e20b200ed4','question.created','{"question":{"id":"qst_01a0c45077b870f78d5087e20b200ed4","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Bash in ~/app: rm -rf build","kind":"choice","options":["Allow","Deny"],"status":"pending","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000593,"action":{"client":"claude_code","tool":"Bash","form":"command","folder":"/home/ann/app","session":"session-1","host":null,"prompt_is_whole":true}}}',1790000003000);
INSERT INTO "events" VALUES(22,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007384a21d838740995069 inbox','inbox.updated','{"key_id":"key_01a0c4506c007384a21d838740995069","unread":2}',1790000004000);
INSERT INTO "events" VALUES(23,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007385b583d6eb1ac00a0c inbox','inbox.updated','{"key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","unread":1}',1790000004000);
INSERT INTO "events" VALUES(24,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c007384a21d838740995069','key.updated','{"key":{"id":"key_01a0c4506c007384a21d838740995069","label":"builder","prefix":"mck_nl0Z","last4":"G054","created_at":1790000000,"last_used_at":1790000003,"last_client":null,"last_host":null,"counts":{"todo":1,"in_progress":1,"done":1,"cancelled":0},"webhook":{"state":"ok","origin":"http://127.0.0.1:9","hint":"nbox","created_at":1790000004,"last_sent_at":null,"last_error":null,"missed":0}}}',1790000004000);
INSERT INTO "events" VALUES(25,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3','key.created','{"key":{"id":"key_01a0c4507ba071cd87ba6331e0cc5fe3","label":"By OAuth","prefix":"mck_W2PL","last4":"4iX0","created_at":1790000004,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000004000);
INSERT INTO "events" VALUES(26,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3','grants.updated','{"key_id":"key_01a0c4507ba071cd87ba6331e0cc5fe3"}',1790000004000);
INSERT INTO "events" VALUES(27,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c4507ba071d18d08e91e20f24819','task.created','{"task":{"id":"tsk_01a0c4507ba071d18d08e91e20f24819","key_id":"key_01a0c4507ba071cd87ba6331e0cc5fe3","title":"By OAuth","description":"","status":"todo","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000004,"updated_at":1790000004,"completed_at":null,"seen_at":1790000004,"host":null}}',1790000004000);
INSERT INTO "events" VALUES(28,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f5b84e258bd7513c5e','question.updated','{"question":{"id":"qst_01a0c45077b870f5b84e258bd7513c5e","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Ends","kind":"confirm","options":["Yes","No"],"status":"expired","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000063}}',1790000064000);
INSERT INTO "events" VALUES(29,'acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4506c00738ab925ac50594d6618','key.deleted','{"key_id":"key_01a0c4506c00738ab925ac50594d6618"}',1790000069000);
INSERT INTO "events" VALUES(30,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c451c7a8738588d17842a80f512c','question.created','{"question":{"id":"qst_01a0c451c7a8738588d17842a80f512c","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Asked before the upgrade?","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000089,"answered_at":null,"expires_at":1790086489}}',1790000089000);
INSERT INTO "events" VALUES(31,'acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ed908730c9024dba1b','task.updated','{"task":{"id":"tsk_01a0c45077b870ed908730c9024dba1b","key_id":"key_01a0c4506c007384a21d838740995069","title":"Ship version 2","description":"All of it","status":"in_progress","priority":"high","notify":true,"progress":50,"status_note":"Half way","source":"agent","created_at":1790000003,"updated_at":1790000089,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000089000);
INSERT INTO "events" VALUES(32,'acc_01a0c4506c0073838fe8b523ba7646a2','qst_01a0c45077b870f78d5087e20b200ed4','question.updated','{"question":{"id":"qst_01a0c45077b870f78d5087e20b200ed4","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Bash in ~/app: rm -rf build","kind":"choice","options":["Allow","Deny"],"status":"cancelled","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000593,"action":{"client":"claude_code","tool":"Bash","form":"command","folder":"/home/ann/app","session":"session-1","host":null,"prompt_is_whole":true}}}',1790000089000);
CREATE TABLE `grants` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`client_digest` text NOT NULL,
	`client_name` text,
	`client_host` text,
	`redirect_uri` text NOT NULL,
	`challenge` text NOT NULL,
	`resource` text NOT NULL,
	`code_digest` text,
	`redeemed_at` integer,
	`family_digest` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`expires_at` integer NOT NULL,
	`change_id` text NOT NULL
);
INSERT INTO "grants" VALUES('grt_01a0c4507ba071ce88401e79f3cf88ba','acc_01a0c4506c0073838fe8b523ba7646a2','key_01a0c4507ba071cd87ba6331e0cc5fe3','8N1tJskHxxB-8O5gZ9_fmwqmkr6oz1DY_2HBhwXxLdI','Test client',NULL,'http://127.0.0.1:4999/callback','ypqzKSTc5JvkCX0nfwyaMVLiEyzLr8XFm3tbssWRQUc','http://127.0.0.1:46499','5k9-T9Z26dBqPspbLdQk4gTCs2WttB1tNSgUGlJ8FJo',1790000004000,'qfHDRCjLhUz58zOjVR7tt4e-s2smUHWuoHahRyvqW9U',1790000004000,1790000004000,1795184004000,'EGnlY2PuWXQY19');
CREATE TABLE `idempotency` (
	`id` text PRIMARY KEY NOT NULL,
	`body` text NOT NULL,
	`resource_id` text NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text,
	`created_at` integer NOT NULL
);
CREATE TABLE `items` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`type` text NOT NULL,
	`from_key_id` text,
	`from_label` text,
	`task_id` text,
	`question_id` text,
	`changes` text NOT NULL,
	`last_task` text,
	`text` text,
	`created_at` integer NOT NULL,
	`read_at` integer,
	`change_id` text NOT NULL
);
INSERT INTO "items" VALUES(1,'itm_01a0c45077b870f1a1366b84539eee7c','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','task.updated',NULL,NULL,'tsk_01a0c45077b870ee84c705b32c871777',NULL,'["priority"]',NULL,NULL,1790000003000,NULL,'EGnlY2PuWXQYl');
INSERT INTO "items" VALUES(2,'itm_01a0c4507ba071c6a28ab483bf8f189e','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','message',NULL,NULL,NULL,NULL,'[]',NULL,'Mind the gap',1790000004000,NULL,'EGnlY2PuWXQYx');
INSERT INTO "items" VALUES(3,'itm_01a0c4507ba071c7a7498d7a3041bf34','key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2','message','key_01a0c4506c007384a21d838740995069','builder',NULL,NULL,'[]',NULL,'From an agent',1790000004000,NULL,'EGnlY2PuWXQY10');
CREATE TABLE `keys` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`label` text NOT NULL,
	`prefix` text NOT NULL,
	`last4` text NOT NULL,
	`secret_digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`last_client` text,
	`last_host` text,
	`tasks_todo` integer NOT NULL,
	`tasks_in_progress` integer NOT NULL,
	`tasks_done` integer NOT NULL,
	`tasks_cancelled` integer NOT NULL,
	`change_id` text NOT NULL,
	`deleted_at` integer
, `unread` integer DEFAULT 0 NOT NULL, `webhook_sets` text DEFAULT '[]' NOT NULL);
INSERT INTO "keys" VALUES('key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','builder','mck_nl0Z','G054','7PaPdnjRN3gawzGtdiKzQrykn8m5DsW_JurhQbIlBAM',1790000000000,1790000069000,NULL,NULL,1,1,1,0,'EGnlY2PuWXQY14',NULL,2,'[]');
INSERT INTO "keys" VALUES('key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2','checker','mck_V8su','2Tks','HBVZFo2vQkeOLRJjhu6aqJmbXk_vkAbj0r9Mc-nsrBM',1790000000000,1790000003000,NULL,NULL,0,0,0,1,'EGnlY2PuWXQY3',NULL,1,'[]');
INSERT INTO "keys" VALUES('key_01a0c4506c007388af8a797d63692662','acc_01a0c4506c00738789e8124552c1e958','elsewhere','mck_xQXN','DcWU','LfFLn7vw9mwC70bwjgs3Zm89TpZ_y0Kp2-Z7rhHWg7s',1790000000000,1790000000000,NULL,NULL,1,0,0,0,'EGnlY2PuWXQY6',NULL,0,'[]');
INSERT INTO "keys" VALUES('key_01a0c4507ba071cd87ba6331e0cc5fe3','acc_01a0c4506c0073838fe8b523ba7646a2','By OAuth','mck_W2PL','4iX0','SqzpGuiBiclqGM2cGqT_p6_keYXkZQrMEu7Hfdz3seE',1790000004000,1790000004000,NULL,NULL,1,0,0,0,'EGnlY2PuWXQY16',NULL,0,'[]');
CREATE TABLE `live_activities` (
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`task_id` text NOT NULL,
	`key_id` text NOT NULL,
	`push_token` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL, `ended_at` integer, `stamp` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `device_id`, `task_id`)
);
INSERT INTO "live_activities" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','tsk_01a0c45077b870ed908730c9024dba1b','key_01a0c4506c007384a21d838740995069','ee05',1790000003000,1790000003000,NULL,1790000089);
CREATE TABLE `open_pages` (
	`account_id` text NOT NULL,
	`process_id` text NOT NULL,
	PRIMARY KEY(`account_id`, `process_id`)
);
CREATE TABLE `page_processes` (
	`id` text PRIMARY KEY NOT NULL,
	`until` integer NOT NULL
);
CREATE TABLE `pairings` (
	`seq` integer PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`session_id` text,
	`code_digest` text NOT NULL,
	`link_digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`claimed_by` text
);
INSERT INTO "pairings" VALUES(1,'acc_01a0c4506c0073838fe8b523ba7646a2','ses_01a0c4506c007c14a60c81cd2d73038a','okpIjb-mQDXDnHF0fG83q7KHLsWVjgbXnMOl9NoOj5c','qAC77VOovNMcee2SrIN72IGXXFcn3U6OkuxQzyJeIpU',1790000000000,1790000300000,'ses_01a0c4506c007386b1a1257183145e18');
INSERT INTO "pairings" VALUES(2,'acc_01a0c4506c0073838fe8b523ba7646a2','ses_01a0c4506c007c14a60c81cd2d73038a','WOFvqKwAMz2lgdkedD-PGiismFn-rwgAvUo66W0Ge8A','DgCHnE02HFoHd_YthHECCY6zHDBQEojqUyRXrW_HCNk',1790000089000,1790000389000,NULL);
CREATE TABLE `push_records` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`apns_id` text NOT NULL,
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`key_id` text,
	`kind` text NOT NULL,
	`about` text NOT NULL,
	`environment` text NOT NULL,
	`outcome` text NOT NULL,
	`reason` text,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`tried_at` integer,
	`done_at` integer NOT NULL
);
INSERT INTO "push_records" VALUES(1,'b832f971-8971-4776-aac6-da3462bd506b','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','task','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(2,'9dbdfb53-05a3-4df7-ad13-93745b36fbb3','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','widget','','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(3,'3b557f54-9357-4b4d-a848-6dbab7fdb2c3','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','start','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(4,'e9eb5d46-9880-4022-a29c-06c349f8e63a','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','silent','','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(5,'caa8e9dc-ce4b-46a7-ae46-a2da87d49938','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','task','tsk_01a0c45077b870ef989f804cee5b7f29','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(6,'e52e31b4-d438-418a-acba-3ffc5ecd7718','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007385b583d6eb1ac00a0c','task','tsk_01a0c45077b870f093862fd40274b38c','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(7,'a70ed584-0443-46a2-adcb-571f107726cc','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','update','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(8,'e9a4c906-f43f-449a-ae46-f473f7da1d6a','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','silent','','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(9,'59358139-05d0-4bed-a103-4965ce926592','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','question','qst_01a0c45077b870f297aef1902bda4d1b','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(10,'662ad36a-a4a8-42fa-a3e3-80b52e3fbdc7','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','question','qst_01a0c45077b870f39c323bcf69ed41fc','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(11,'9760fa6f-855c-458c-ad21-f42ea138450f','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007385b583d6eb1ac00a0c','question','qst_01a0c45077b870f48a6ceea82a9bb1ec','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(12,'142d4fc7-2fe3-4cdd-aa64-ecf4adc3583d','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007385b583d6eb1ac00a0c','question','qst_01a0c45077b870f5b84e258bd7513c5e','sandbox','sent',NULL,1,1790000003000,1790000003000,1790000003000);
INSERT INTO "push_records" VALUES(13,'553cc668-603e-480c-ab72-568fff87849a','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007385b583d6eb1ac00a0c','question','qst_01a0c45077b870f69de03f49c9df96cc','sandbox','pointless',NULL,0,1790000003000,NULL,1790000003000);
INSERT INTO "push_records" VALUES(14,'29ca6956-3706-4cc4-a330-b7c7d8b4a67e','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','question','qst_01a0c45077b870f78d5087e20b200ed4','sandbox','sent',NULL,1,1790000003000,1790000004000,1790000004000);
INSERT INTO "push_records" VALUES(15,'2e9b771a-adeb-4537-a2c2-efdf66066664','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111',NULL,'clear','','sandbox','sent',NULL,1,1790000003000,1790000004000,1790000004000);
INSERT INTO "push_records" VALUES(16,'56e0c1ac-6d1d-44a8-a4ec-c0d1731470fd','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111',NULL,'silent','','sandbox','sent',NULL,1,1790000004000,1790000004000,1790000004000);
INSERT INTO "push_records" VALUES(17,'77648d9e-b33c-461f-a613-f36a744c06bb','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4507ba071cd87ba6331e0cc5fe3','task','tsk_01a0c4507ba071d18d08e91e20f24819','sandbox','sent',NULL,1,1790000004000,1790000004000,1790000048040);
INSERT INTO "push_records" VALUES(18,'ecbec623-3bea-4e41-ad38-daae5277a366','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','update','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','sent',NULL,1,1790000003000,1790000047320,1790000050550);
INSERT INTO "push_records" VALUES(19,'7472128c-0688-4390-a05e-a41b44753fa0','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007384a21d838740995069','task','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','sent',NULL,2,1790000003000,1790000061890,1790000069000);
INSERT INTO "push_records" VALUES(20,'2371d57f-e5e9-4a65-aa5e-04b63b11cd47','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111',NULL,'widget','','sandbox','sent',NULL,1,1790000003000,1790000065570,1790000069000);
INSERT INTO "push_records" VALUES(21,'ba08bb58-70e1-4e86-ace7-009b74f05f65','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','key_01a0c4506c007385b583d6eb1ac00a0c','clear','','sandbox','sent',NULL,1,1790000064000,1790000065570,1790000069000);
CREATE TABLE `push_targets` (
	`account_id` text NOT NULL,
	`purpose` text NOT NULL,
	`recipient_id` text NOT NULL,
	`subject` text NOT NULL,
	`lane` text NOT NULL,
	`address` text NOT NULL,
	`updated_at` integer NOT NULL, `label` text,
	PRIMARY KEY(`account_id`, `purpose`, `recipient_id`, `subject`)
);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','alert','dev_11111111-1111-4111-8111-111111111111','','sandbox','aa01',1790000000000,NULL);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','widget','dev_11111111-1111-4111-8111-111111111111','','sandbox','cc03',1790000000000,NULL);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','activity_start','dev_11111111-1111-4111-8111-111111111111','','sandbox','bb02',1790000000000,NULL);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','alert','dev_22222222-2222-4222-8222-222222222222','','production','dd04',1790000000000,NULL);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','activity','dev_11111111-1111-4111-8111-111111111111','tsk_01a0c45077b870ed908730c9024dba1b','sandbox','ee05',1790000003000,NULL);
INSERT INTO "push_targets" VALUES('acc_01a0c4506c0073838fe8b523ba7646a2','alert','chn_01a0c4507ba071c88c99b0bf89a31f1b','','ntfy','{"server":"http://127.0.0.1:9","topic":"topic","token":null,"buttons":false}',1790000004000,'Phone');
CREATE TABLE `pushes` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`apns_id` text DEFAULT (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))) NOT NULL,
	`account_id` text NOT NULL,
	`device_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`key_id` text,
	`task_id` text,
	`question_id` text,
	`environment` text NOT NULL,
	`token` text,
	`parts` text NOT NULL,
	`more` text,
	`urgency` integer NOT NULL,
	`due_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`lease` text,
	`unclear` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`tried_at` integer
);
INSERT INTO "pushes" VALUES(23,'565d89ab-fd17-4f3e-add5-3f9c0c649010','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c88c99b0bf89a31f1b','task','tsk_01a0c4507ba071d18d08e91e20f24819','key_01a0c4507ba071cd87ba6331e0cc5fe3','tsk_01a0c4507ba071d18d08e91e20f24819',NULL,'ntfy',NULL,'["created"]',NULL,1,1790000096800,1790086404000,1790000004000,NULL,0,5,1790000079860);
INSERT INTO "pushes" VALUES(27,'c1739527-f6e3-4b6e-a1fd-ddb997fedb07','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','silent','',NULL,NULL,NULL,'sandbox',NULL,'["qst_01a0c45077b870f78d5087e20b200ed4"]',NULL,2,1790000090500,1790004203000,1790000069000,NULL,0,0,NULL);
INSERT INTO "pushes" VALUES(28,'daa1f184-2c0c-4b26-a293-8f927b49a6cb','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','widget','','key_01a0c4506c00738ab925ac50594d6618',NULL,NULL,'sandbox',NULL,'[]',NULL,2,1790000125570,1790000725570,1790000069000,NULL,0,0,NULL);
INSERT INTO "pushes" VALUES(29,'c609036a-1768-434b-a86a-57a5eabd1ed4','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c88c99b0bf89a31f1b','question','qst_01a0c451c7a8738588d17842a80f512c','key_01a0c4506c007384a21d838740995069',NULL,'qst_01a0c451c7a8738588d17842a80f512c','ntfy',NULL,'[]',NULL,0,1790000101800,1790086489000,1790000089000,NULL,0,0,1790000089000);
INSERT INTO "pushes" VALUES(30,'efc525ae-d418-44ee-a804-63efb2a5df72','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','question','qst_01a0c451c7a8738588d17842a80f512c','key_01a0c4506c007384a21d838740995069',NULL,'qst_01a0c451c7a8738588d17842a80f512c','sandbox',NULL,'[]',NULL,0,1790000119000,1790086489000,1790000089000,NULL,0,1,1790000089000);
INSERT INTO "pushes" VALUES(31,'de3419ec-53e2-4ede-ae58-72aa9f7ae74e','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c88c99b0bf89a31f1b','task','tsk_01a0c45077b870ed908730c9024dba1b','key_01a0c4506c007384a21d838740995069','tsk_01a0c45077b870ed908730c9024dba1b',NULL,'ntfy',NULL,'["progress"]',NULL,2,1790000101800,1790086489000,1790000089000,NULL,0,0,1790000089000);
INSERT INTO "pushes" VALUES(32,'eeabd98e-14e9-4444-a5ed-bbd7585e2ded','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','task','tsk_01a0c45077b870ed908730c9024dba1b','key_01a0c4506c007384a21d838740995069','tsk_01a0c45077b870ed908730c9024dba1b',NULL,'sandbox',NULL,'["progress"]',NULL,2,1790001889000,1790086489000,1790000089000,NULL,0,1,1790000089000);
INSERT INTO "pushes" VALUES(33,'cba808b2-a000-40f8-a4d0-2b0ed90bccbc','acc_01a0c4506c0073838fe8b523ba7646a2','dev_11111111-1111-4111-8111-111111111111','update','tsk_01a0c45077b870ed908730c9024dba1b','key_01a0c4506c007384a21d838740995069','tsk_01a0c45077b870ed908730c9024dba1b',NULL,'sandbox',NULL,'["progress"]',NULL,1,1790001889000,1790000989000,1790000089000,NULL,0,1,1790000089000);
CREATE TABLE `question_deliveries` (
	`question_id` text NOT NULL,
	`target_id` text NOT NULL,
	`id` text NOT NULL,
	`lane` text NOT NULL,
	`label` text NOT NULL,
	`status` text NOT NULL,
	`reason` text,
	`queued_at` integer NOT NULL,
	`sent_at` integer,
	`shown_at` integer,
	`opened_at` integer,
	PRIMARY KEY(`question_id`, `target_id`)
) WITHOUT ROWID;
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f297aef1902bda4d1b','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b8733e03ed14fb3c8f5534','sandbox','iPhone','sent',NULL,1790000003000,1790000003000,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f39c323bcf69ed41fc','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b87b0849029ab619776d1b','sandbox','iPhone','sent',NULL,1790000003000,1790000003000,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f48a6ceea82a9bb1ec','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b875b09e096195628ada32','sandbox','iPhone','sent',NULL,1790000003000,1790000003000,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f5b84e258bd7513c5e','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b87345ddbca6a44eca7bf3','sandbox','iPhone','sent',NULL,1790000003000,1790000003000,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f69de03f49c9df96cc','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b87ebe2f05c3077e4d350c','sandbox','iPhone','suppressed','question_ended',1790000003000,NULL,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c45077b870f78d5087e20b200ed4','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c45077b8700d8cbe1e432928d02a','sandbox','iPhone','sent',NULL,1790000003000,1790000004000,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c451c7a8738588d17842a80f512c','chn_01a0c4507ba071c88c99b0bf89a31f1b','dlv_01a0c451c7a872aa8acfbce3f2d0d13e','ntfy','Phone','queued',NULL,1790000089000,NULL,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c451c7a8738588d17842a80f512c','chn_01a0c4507ba071c9837ade90691f522f','dlv_01a0c451c7a874ec434e6a8c0d3a3c94','webhook','CI','queued',NULL,1790000089000,NULL,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('qst_01a0c451c7a8738588d17842a80f512c','dev_11111111-1111-4111-8111-111111111111','dlv_01a0c451c7a875ac9a8ada9645465893','sandbox','iPhone','queued',NULL,1790000089000,NULL,NULL,NULL);
CREATE TABLE `questions` (
	`id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`task_id` text,
	`prompt` text NOT NULL,
	`kind` text NOT NULL,
	`options` text NOT NULL,
	`status` text NOT NULL,
	`answer` text,
	`created_at` integer NOT NULL,
	`answered_at` integer,
	`expires_at` integer NOT NULL,
	`change_id` text NOT NULL
, `request_id` text, `hidden` integer, `left_at` integer, `url` text, `allow_other` integer, `fallback` text, `note` text, `has_context` integer, `context` text, `action` text, `action_turn` text, `action_digest` text, `action_calls` integer, `action_left` integer, `action_text` text, `cancelled_at` integer);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f297aef1902bda4d1b','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','tsk_01a0c45077b870ed908730c9024dba1b','Which *way*?','choice','["Left","Right"]','pending',NULL,1790000003000,NULL,1790086403000,'EGnlY2PuWXQYm',NULL,NULL,NULL,'https://example.com/x',1,'I go left',NULL,1,'Long context',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f39c323bcf69ed41fc','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Really?','confirm','["Yes","No"]','pending',NULL,1790000003000,NULL,1790086403000,'EGnlY2PuWXQYo','r1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f48a6ceea82a9bb1ec','key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Say something','text','[]','pending',NULL,1790000003000,NULL,1790003603000,'EGnlY2PuWXQYp',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f5b84e258bd7513c5e','key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Ends','confirm','["Yes","No"]','expired',NULL,1790000003000,NULL,1790000063000,'EGnlY2PuWXQY1j',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f69de03f49c9df96cc','key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Cancelled?','confirm','["Yes","No"]','cancelled',NULL,1790000003000,NULL,1790003603000,'EGnlY2PuWXQYv',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1790000003000);
INSERT INTO "questions" VALUES('qst_01a0c45077b870f78d5087e20b200ed4','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Bash in ~/app: rm -rf build','choice','["Allow","Deny"]','cancelled',NULL,1790000003000,NULL,1790000593000,'EGnlY2PuWXQY1u',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"client":"claude_code","tool":"Bash","form":"command","folder":"/home/ann/app","session":"session-1","host":null,"prompt_is_whole":true}','prompt-1','Mwj96EtQL2dwAV0gw9Uhed_L4KbxnTGe5ruMWSmcBmY',1,1,'rm -rf build',1790000089000);
INSERT INTO "questions" VALUES('qst_01a0c451c7a8738588d17842a80f512c','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2',NULL,'Asked before the upgrade?','confirm','["Yes","No"]','pending',NULL,1790000089000,NULL,1790086489000,'EGnlY2PuWXQY1p',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE relay_migrations (hash text primary key, applied_at integer not null);
INSERT INTO "relay_migrations" VALUES('8e26b5f071abe83da65c108cc8e6160a69ba4667c2b4989318d223e7178fe24a',1795876335756);
INSERT INTO "relay_migrations" VALUES('a4a4e0e9ba630173106536de8af623e8ea2521695560ac822691b55f8ee2c568',1795876335759);
INSERT INTO "relay_migrations" VALUES('b2b0351864fae531a93c3192837373a6eb3745ce359d74d5744b233555126feb',1795876335760);
INSERT INTO "relay_migrations" VALUES('82c3e8c1c1df614821c43227668b9719bd10f5e005bbf6bd97eadea8ebca1c94',1795876335760);
INSERT INTO "relay_migrations" VALUES('e27ac527c60b48f60852182a8d861f05d6c817f71178c4053751d5753676d93c',1795876335761);
INSERT INTO "relay_migrations" VALUES('35a9b57bb318449749bc8d3717d35204105b11f70b914d58e82e7feee2d4f5fe',1795876335762);
INSERT INTO "relay_migrations" VALUES('c81af9a57be700f8e8cab1b2ef2b7a7921e6def2ca4a804934dda6820ac69758',1795876335772);
INSERT INTO "relay_migrations" VALUES('7e9ba4c23148925ba5a2c667b4e01c4e65d258f46507af138ac96e98b2ec1664',1795876335774);
INSERT INTO "relay_migrations" VALUES('0b8a2763cdf7359d39bc6d41e8a7e5a123eb40e265424e2edc27ce377bf254d2',1795876335775);
INSERT INTO "relay_migrations" VALUES('2c7456861bee21a1453438669c5886fd908bfafdea73ca9523088a4e1fe9819a',1795876335776);
INSERT INTO "relay_migrations" VALUES('16797e615aeacca68fd7cf0cbbdfb01edc898f56487d78438e97ec6e83ca7234',1795876335785);
INSERT INTO "relay_migrations" VALUES('061b24e8c30b5f89eb6193e8d086176d0d11a46b23673ddbb707fd1ee9c1053f',1795876335808);
INSERT INTO "relay_migrations" VALUES('39dc8c591754987b734e89e48500d44c3d272bddd3d0aff568daeb01bb9abb29',1795876335813);
INSERT INTO "relay_migrations" VALUES('a2d2fcf846a1fcd0333bc4d85ce3a1fbb6b59b8019e5dc7548c9b41a0f69e855',1795876335814);
INSERT INTO "relay_migrations" VALUES('02b29da894d9e401862db82daee56d2b5e7f19ec5a2c16fab104f2bdb373ee8f',1795876335815);
INSERT INTO "relay_migrations" VALUES('353904a866fb79edeb70b2c12f659908a9865cda4433b54ae3fd4b0471a79a5a',1795876335817);
INSERT INTO "relay_migrations" VALUES('ad4e77c1946ccfce8638a33c1fde69de8d9a6cf7c789b3bb579ca42628f82019',1795876335817);
INSERT INTO "relay_migrations" VALUES('19bf320e7d69d2c1d65da5907f7e529a62bc3a07b4c5b08d7878756e10d8ffad',1795876335818);
INSERT INTO "relay_migrations" VALUES('f6976e1c063b36d901003caf90bace73d03374a36b32b498271d967d5918e92f',1795876335819);
INSERT INTO "relay_migrations" VALUES('74ef1554a8a6db0699aa63e77b305257969b246bd33d7e7b01901a722f0406c1',1795876335820);
INSERT INTO "relay_migrations" VALUES('28b712e862f3896a82d6ae9e58eae770f02186eadb70bfb4a660fc53b7aea7f7',1795876335821);
INSERT INTO "relay_migrations" VALUES('f0c1a624bd3030e39d08ba981232fb831e497edbe8c9282a5bfeb52a4fc7fefc',1795876335824);
INSERT INTO "relay_migrations" VALUES('f9f6ebb23b96ba1745a198f42b7684db3ce2d6929eda5bbe925754d0e4cc9f86',1795876335825);
INSERT INTO "relay_migrations" VALUES('14a546fd446743c60f137fa70da294753cebb6c94594ba92348c4bcbf98f8c23',1795876335827);
INSERT INTO "relay_migrations" VALUES('ce475e23d9336dab4f549ccc8b3828cf29e345fb97953cfa94cbbf90c02aa914',1795876335829);
INSERT INTO "relay_migrations" VALUES('75299f7eeccab471af9d34d6243ea30f5d337a0252d1de4bfdff58874afb0815',1795876335831);
INSERT INTO "relay_migrations" VALUES('483f82af8db82d83a48ae547c15f6092d9d8ea5f23f86ec7bb46cfe437bf167b',1795876335832);
INSERT INTO "relay_migrations" VALUES('01335478a4d5f40ffcf4333b3158227579ece7fb2980266df88c491835f42a68',1795876335833);
INSERT INTO "relay_migrations" VALUES('56807efcadbe41c67d88557f00eb720c4ca8e4ef8c48183c9e19e40d291c5317',1795876335847);
INSERT INTO "relay_migrations" VALUES('0b86cfd1048a3d6d48c433a49d667a505d50b2930691189fb67eb33918c3302d',1795876335865);
INSERT INTO "relay_migrations" VALUES('b40797dd6e8d45be474e648d0b764d1e9d0a549a56349dce3cbcfc0317c1016f',1795876335922);
INSERT INTO "relay_migrations" VALUES('307fa0316ffc01c10f0514ac55ab453dc68b279e6d2f7db290ed39a014d65752',1795876335932);
INSERT INTO "relay_migrations" VALUES('d497b1b49b08f5151c727ac26d633834ca084394eeba0c2272ab11c8014bbf4a',1795876335935);
INSERT INTO "relay_migrations" VALUES('a30ca3312343f37d1629332c6ea82728939373976c8764e2c86871806bffc8d7',1795876335941);
CREATE TABLE `secrets` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
INSERT INTO "secrets" VALUES('signing','sig_SI-NnuzcIaCZMHLjn-_Kd8ehWxLRWdS-A7qKWvyRY_E');
CREATE TABLE `store_facts` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
INSERT INTO "store_facts" VALUES('oldest_version','0.1.0');
INSERT INTO "store_facts" VALUES('write_probe','1795876335947');
INSERT INTO "store_facts" VALUES('clock','1790000082110');
CREATE TABLE `tasks` (
	`id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`account_id` text NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`status` text NOT NULL,
	`priority` text NOT NULL,
	`notify` integer NOT NULL,
	`progress` integer,
	`status_note` text,
	`source` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`completed_at` integer,
	`seen_at` integer,
	`host` text,
	`change_id` text NOT NULL
);
INSERT INTO "tasks" VALUES('tsk_01a0c4506c007389a76a6430df0990bf','key_01a0c4506c007388af8a797d63692662','acc_01a0c4506c00738789e8124552c1e958','Not ours','','todo','medium',1,NULL,NULL,'agent',1790000000000,1790000000000,NULL,1790000000000,NULL,'EGnlY2PuWXQY7');
INSERT INTO "tasks" VALUES('tsk_01a0c45077b870ed908730c9024dba1b','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','Ship version 2','All of it','in_progress','high',1,50,'Half way','agent',1790000003000,1790000089000,NULL,1790000003000,NULL,'EGnlY2PuWXQY1s');
INSERT INTO "tasks" VALUES('tsk_01a0c45077b870ee84c705b32c871777','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','Write notes','','todo','low',0,NULL,NULL,'agent',1790000003000,1790000003001,NULL,1790000003000,NULL,'EGnlY2PuWXQYk');
INSERT INTO "tasks" VALUES('tsk_01a0c45077b870ef989f804cee5b7f29','key_01a0c4506c007384a21d838740995069','acc_01a0c4506c0073838fe8b523ba7646a2','Done already','','done','medium',1,100,NULL,'agent',1790000003000,1790000003000,1790000003000,1790000003000,NULL,'EGnlY2PuWXQYe');
INSERT INTO "tasks" VALUES('tsk_01a0c45077b870f093862fd40274b38c','key_01a0c4506c007385b583d6eb1ac00a0c','acc_01a0c4506c0073838fe8b523ba7646a2','Cancelled','','cancelled','medium',1,NULL,NULL,'agent',1790000003000,1790000003000,NULL,1790000003000,NULL,'EGnlY2PuWXQYg');
INSERT INTO "tasks" VALUES('tsk_01a0c4507ba071d18d08e91e20f24819','key_01a0c4507ba071cd87ba6331e0cc5fe3','acc_01a0c4506c0073838fe8b523ba7646a2','By OAuth','','todo','medium',1,NULL,NULL,'agent',1790000004000,1790000004000,NULL,1790000004000,NULL,'EGnlY2PuWXQY1a');
CREATE TABLE `webhook_messages` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`account_id` text NOT NULL,
	`channel_id` text NOT NULL,
	`subject` text NOT NULL,
	`type` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL,
	`due_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`head` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`lease` text
, `item_seq` integer);
INSERT INTO "webhook_messages" VALUES(1,'msg_01a0c4507ba071ca8d500403e8c9b26f','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','chn_01a0c4507ba071c9837ade90691f522f','channel.test','{"channel_id":"chn_01a0c4507ba071c9837ade90691f522f","label":"CI"}',1790000004000,1790000127590,1790086404000,1,4,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(2,'msg_01a0c4507ba071ccb32fc02b8a5a18b4','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071cb9b1c67f6abf789bc','chn_01a0c4507ba071cb9b1c67f6abf789bc','webhook.test','{"key_id":"key_01a0c4506c007384a21d838740995069","label":"builder"}',1790000004000,1790000127590,1790086404000,1,4,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(3,'itm_01a0c45077b870f1a1366b84539eee7c','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071cb9b1c67f6abf789bc','key_01a0c4506c007384a21d838740995069','task.updated','{}',1790000004000,1790000004000,1790086404000,1,0,NULL,1);
INSERT INTO "webhook_messages" VALUES(4,'itm_01a0c4507ba071c6a28ab483bf8f189e','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071cb9b1c67f6abf789bc','key_01a0c4506c007384a21d838740995069','message','{}',1790000004000,1790000004000,1790086404000,0,0,NULL,2);
INSERT INTO "webhook_messages" VALUES(5,'msg_f0613cabb72d91ad0dfa9e5af0ee7cac','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','key_01a0c4506c007384a21d838740995069','key.updated','{"key":{"id":"key_01a0c4506c007384a21d838740995069","label":"builder","prefix":"mck_nl0Z","last4":"G054","created_at":1790000000,"last_used_at":1790000003,"last_client":null,"last_host":null,"counts":{"todo":1,"in_progress":1,"done":1,"cancelled":0},"webhook":{"state":"ok","origin":"http://127.0.0.1:9","hint":"nbox","created_at":1790000004,"last_sent_at":null,"last_error":null,"missed":0}}}',1790000004000,1790000004000,1790086404000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(6,'msg_5a445375dda4cf6f13479d05f215655d','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','key_01a0c4507ba071cd87ba6331e0cc5fe3','key.created','{"key":{"id":"key_01a0c4507ba071cd87ba6331e0cc5fe3","label":"By OAuth","prefix":"mck_W2PL","last4":"4iX0","created_at":1790000004,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}',1790000004000,1790000004000,1790086404000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(7,'msg_0d0ba647822a89094b3d52b85636f5c7','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','tsk_01a0c4507ba071d18d08e91e20f24819','task.created','{"task":{"id":"tsk_01a0c4507ba071d18d08e91e20f24819","key_id":"key_01a0c4507ba071cd87ba6331e0cc5fe3","title":"By OAuth","description":"","status":"todo","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000004,"updated_at":1790000004,"completed_at":null,"seen_at":1790000004,"host":null}}',1790000004000,1790000004000,1790086404000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(8,'msg_15f5e451398c0b99e2390e037fcdc77e','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','qst_01a0c45077b870f5b84e258bd7513c5e','question.updated','{"question":{"id":"qst_01a0c45077b870f5b84e258bd7513c5e","key_id":"key_01a0c4506c007385b583d6eb1ac00a0c","task_id":null,"prompt":"Ends","kind":"confirm","options":["Yes","No"],"status":"expired","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000063}}',1790000064000,1790000064000,1790086464000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(9,'msg_1f2f0fa695fcc3548b8907c76cea0634','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','key_01a0c4506c00738ab925ac50594d6618','key.deleted','{"key_id":"key_01a0c4506c00738ab925ac50594d6618"}',1790000069000,1790000069000,1790086469000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(10,'msg_a765ad63dd1ed1b46e9425e1e5c2c3c1','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','qst_01a0c451c7a8738588d17842a80f512c','question.created','{"question":{"id":"qst_01a0c451c7a8738588d17842a80f512c","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Asked before the upgrade?","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000089,"answered_at":null,"expires_at":1790086489}}',1790000089000,1790000089000,1790086489000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(11,'msg_ea647b6de361ca1516bed5fc25437263','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','tsk_01a0c45077b870ed908730c9024dba1b','task.updated','{"task":{"id":"tsk_01a0c45077b870ed908730c9024dba1b","key_id":"key_01a0c4506c007384a21d838740995069","title":"Ship version 2","description":"All of it","status":"in_progress","priority":"high","notify":true,"progress":50,"status_note":"Half way","source":"agent","created_at":1790000003,"updated_at":1790000089,"completed_at":null,"seen_at":1790000003,"host":null}}',1790000089000,1790000089000,1790086489000,1,0,NULL,NULL);
INSERT INTO "webhook_messages" VALUES(12,'msg_9fdc7a02beb33ceb2a6f496780345780','acc_01a0c4506c0073838fe8b523ba7646a2','chn_01a0c4507ba071c9837ade90691f522f','qst_01a0c45077b870f78d5087e20b200ed4','question.updated','{"question":{"id":"qst_01a0c45077b870f78d5087e20b200ed4","key_id":"key_01a0c4506c007384a21d838740995069","task_id":null,"prompt":"Bash in ~/app: rm -rf build","kind":"choice","options":["Allow","Deny"],"status":"cancelled","answer":null,"created_at":1790000003,"answered_at":null,"expires_at":1790000593,"action":{"client":"claude_code","tool":"Bash","form":"command","folder":"/home/ann/app","session":"session-1","host":null,"prompt_is_whole":true}}}',1790000089000,1790000089000,1790086489000,1,0,NULL,NULL);
CREATE UNIQUE INDEX `accounts_token` ON `accounts` (`token_digest`);
CREATE UNIQUE INDEX `keys_secret` ON `keys` (`secret_digest`);
CREATE INDEX `keys_account` ON `keys` (`account_id`,`created_at`,`id`);
CREATE INDEX `questions_key` ON `questions` (`key_id`,`status`,`created_at`,`id`);
CREATE INDEX `questions_account` ON `questions` (`account_id`,`status`,`created_at`,`id`,`key_id`);
CREATE INDEX `questions_task` ON `questions` (`task_id`,`status`) WHERE task_id is not null;
CREATE INDEX `questions_due` ON `questions` (`expires_at`) WHERE status = 'pending';
CREATE INDEX `tasks_key` ON `tasks` (`key_id`,`status`,`updated_at`,`id`);
CREATE INDEX `tasks_account` ON `tasks` (`account_id`,`status`,`updated_at`,`id`,`key_id`);
CREATE TRIGGER `tasks_counted` AFTER INSERT ON `tasks` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` + (NEW.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` + (NEW.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` + (NEW.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` + (NEW.`status` = 'cancelled')
	WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `tasks_recounted` AFTER UPDATE OF `status` ON `tasks` WHEN OLD.`status` <> NEW.`status` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` + (NEW.`status` = 'todo') - (OLD.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` + (NEW.`status` = 'in_progress') - (OLD.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` + (NEW.`status` = 'done') - (OLD.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` + (NEW.`status` = 'cancelled') - (OLD.`status` = 'cancelled')
	WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `tasks_uncounted` AFTER DELETE ON `tasks` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` - (OLD.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` - (OLD.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` - (OLD.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` - (OLD.`status` = 'cancelled')
	WHERE `id` = OLD.`key_id`;
END;
CREATE UNIQUE INDEX `devices_apns` ON `devices` (`apns_token`) WHERE apns_token is not null;
CREATE INDEX `accounts_deleted` ON `accounts` (`deleted_at`) WHERE deleted_at is not null;
CREATE INDEX `keys_deleted` ON `keys` (`deleted_at`) WHERE deleted_at is not null;
CREATE INDEX `tasks_finished` ON `tasks` (`updated_at`) WHERE status in ('done', 'cancelled');
CREATE UNIQUE INDEX `items_id` ON `items` (`id`);
CREATE INDEX `items_key` ON `items` (`key_id`,`seq`);
CREATE INDEX `items_unread` ON `items` (`key_id`,`seq`) WHERE read_at is null;
CREATE INDEX `items_mergeable` ON `items` (`task_id`) WHERE type = 'task.updated' and read_at is null;
CREATE INDEX `items_sent` ON `items` (`from_key_id`,`key_id`) WHERE from_key_id is not null and read_at is null;
CREATE INDEX `items_old` ON `items` (`read_at`) WHERE read_at is not null;
CREATE INDEX `items_old_unread` ON `items` (`created_at`) WHERE read_at is null;
CREATE TRIGGER `items_counted` AFTER INSERT ON `items` WHEN NEW.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` + 1 WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `items_read` AFTER UPDATE OF `read_at` ON `items` WHEN OLD.`read_at` IS NULL AND NEW.`read_at` IS NOT NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `items_uncounted` AFTER DELETE ON `items` WHEN OLD.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = OLD.`key_id`;
END;
CREATE INDEX `idempotency_account` ON `idempotency` (`account_id`);
CREATE INDEX `idempotency_key` ON `idempotency` (`key_id`);
CREATE INDEX `idempotency_old` ON `idempotency` (`created_at`);
CREATE INDEX `live_activities_task` ON `live_activities` (`task_id`);
CREATE INDEX `live_activities_key` ON `live_activities` (`key_id`);
CREATE INDEX `challenges_expiry` ON `challenges` (`expires_at`);
CREATE INDEX `account_creations_origin` ON `account_creations` (`origin`,`created_at`);
CREATE UNIQUE INDEX `activity_blocks_key` ON `activity_blocks` (`key_id`,`at`,`id`);
CREATE INDEX `push_records_pace` ON `push_records` (`account_id`,`device_id`,`kind`,`about`,`tried_at`);
CREATE INDEX `push_records_key` ON `push_records` (`key_id`) WHERE key_id is not null;
CREATE INDEX `push_records_old` ON `push_records` (`done_at`);
CREATE UNIQUE INDEX `pushes_subject` ON `pushes` (`account_id`,`device_id`,`kind`,`subject`);
CREATE INDEX `pushes_due` ON `pushes` (`environment`,`urgency`,`due_at`);
CREATE INDEX `pushes_expiry` ON `pushes` (`expires_at`);
CREATE INDEX `pushes_token` ON `pushes` (`token`) WHERE token is not null;
CREATE INDEX `pushes_leased` ON `pushes` (`environment`,`lease`) WHERE lease is not null;
CREATE UNIQUE INDEX `credentials_id` ON `credentials` (`id`);
CREATE INDEX `credentials_account` ON `credentials` (`account_id`,`created_at`,`id`);
CREATE INDEX `credentials_key` ON `credentials` (`key_id`) WHERE key_id is not null;
CREATE TRIGGER `accounts_credential_added` AFTER INSERT ON `accounts` WHEN NEW.`deleted_at` IS NULL BEGIN
	INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
	VALUES (NEW.`token_digest`, 'ses_' || printf('%012x', NEW.`created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
		'account_token', NEW.`id`, NULL, 'account', NEW.`created_at`, NULL, NULL, NULL);
END;
CREATE TRIGGER `keys_credential_added` AFTER INSERT ON `keys` WHEN NEW.`deleted_at` IS NULL BEGIN
	INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
	VALUES (NEW.`secret_digest`, 'crd_' || printf('%012x', NEW.`created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
		'key_secret', NEW.`account_id`, NEW.`id`, 'account', NEW.`created_at`, NEW.`last_used_at`, NEW.`last_host`, NEW.`last_client`);
END;
CREATE TRIGGER `accounts_credential_replaced` AFTER UPDATE OF `token_digest` ON `accounts` WHEN OLD.`token_digest` <> NEW.`token_digest` BEGIN
	UPDATE `credentials` SET `digest` = NEW.`token_digest` WHERE `digest` = OLD.`token_digest`;
END;
CREATE TRIGGER `keys_credential_replaced` AFTER UPDATE OF `secret_digest` ON `keys` WHEN OLD.`secret_digest` <> NEW.`secret_digest` BEGIN
	UPDATE `credentials` SET `digest` = NEW.`secret_digest` WHERE `digest` = OLD.`secret_digest`;
END;
CREATE TRIGGER `credentials_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`digest` <> NEW.`digest` BEGIN
	UPDATE `accounts` SET `token_digest` = NEW.`digest` WHERE `id` = NEW.`account_id` AND `token_digest` = OLD.`digest`;
	UPDATE `keys` SET `secret_digest` = NEW.`digest` WHERE `id` = NEW.`key_id` AND `secret_digest` = OLD.`digest`;
END;
CREATE TRIGGER `credentials_ended` AFTER DELETE ON `credentials` BEGIN
	UPDATE `accounts` SET `token_digest` = 'ended ' || hex(randomblob(16)) WHERE `id` = OLD.`account_id` AND `token_digest` = OLD.`digest` AND `deleted_at` IS NULL;
	UPDATE `keys` SET `secret_digest` = 'ended ' || hex(randomblob(16)) WHERE `id` = OLD.`key_id` AND `secret_digest` = OLD.`digest` AND `deleted_at` IS NULL;
END;
CREATE TRIGGER `accounts_credentials_ended` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `credentials` WHERE `account_id` = NEW.`id`;
END;
CREATE TRIGGER `keys_credentials_ended` AFTER UPDATE OF `deleted_at` ON `keys` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `credentials` WHERE `key_id` = NEW.`id`;
END;
CREATE TRIGGER `keys_credentials_used` AFTER UPDATE OF `last_host`, `last_client` ON `keys` BEGIN
	UPDATE `credentials` SET `last_host` = NEW.`last_host`, `last_client` = NEW.`last_client` WHERE `key_id` = NEW.`id`;
END;
CREATE TRIGGER `devices_targets_insert` AFTER INSERT ON `devices` BEGIN
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT new.`account_id`, `purpose`, new.`id`, '', new.`apns_environment`, `token`, new.`updated_at`
		FROM (SELECT 'alert' AS `purpose`, new.`apns_token` AS `token`
			UNION ALL SELECT 'widget', new.`widget_push_token`
			UNION ALL SELECT 'activity_start', new.`push_to_start_token`)
		WHERE `token` IS NOT NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
CREATE TRIGGER `devices_targets_update` AFTER UPDATE OF `apns_environment`, `apns_token`, `push_to_start_token`, `widget_push_token`, `updated_at` ON `devices` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = new.`account_id` AND `recipient_id` = new.`id` AND `subject` = ''
		AND CASE `purpose` WHEN 'alert' THEN new.`apns_token` WHEN 'widget' THEN new.`widget_push_token` WHEN 'activity_start' THEN new.`push_to_start_token` END IS NULL;
	UPDATE `push_targets` SET `lane` = new.`apns_environment` WHERE `account_id` = new.`account_id` AND `purpose` = 'activity' AND `recipient_id` = new.`id`;
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT new.`account_id`, `purpose`, new.`id`, '', new.`apns_environment`, `token`, new.`updated_at`
		FROM (SELECT 'alert' AS `purpose`, new.`apns_token` AS `token`
			UNION ALL SELECT 'widget', new.`widget_push_token`
			UNION ALL SELECT 'activity_start', new.`push_to_start_token`)
		WHERE `token` IS NOT NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
CREATE TRIGGER `devices_targets_delete` AFTER DELETE ON `devices` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = old.`account_id` AND `recipient_id` = old.`id`;
END;
CREATE TRIGGER `live_activities_targets_insert` AFTER INSERT ON `live_activities` WHEN new.`ended_at` IS NULL BEGIN
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
		FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id`
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
CREATE TRIGGER `live_activities_targets_update` AFTER UPDATE OF `push_token`, `updated_at`, `ended_at` ON `live_activities` BEGIN
	DELETE FROM `push_targets` WHERE new.`ended_at` IS NOT NULL
		AND `account_id` = new.`account_id` AND `purpose` = 'activity' AND `recipient_id` = new.`device_id` AND `subject` = new.`task_id`;
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
		FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id` AND new.`ended_at` IS NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
CREATE TRIGGER `live_activities_targets_delete` AFTER DELETE ON `live_activities` BEGIN
	DELETE FROM `push_targets`
		WHERE `account_id` = old.`account_id` AND `purpose` = 'activity' AND `recipient_id` = old.`device_id` AND `subject` = old.`task_id`;
END;
CREATE TRIGGER `push_targets_delete` AFTER DELETE ON `push_targets` BEGIN
	UPDATE `devices` SET `apns_token` = NULL
		WHERE old.`purpose` = 'alert' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `apns_token` = old.`address`;
	UPDATE `devices` SET `widget_push_token` = NULL
		WHERE old.`purpose` = 'widget' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `widget_push_token` = old.`address`;
	UPDATE `devices` SET `push_to_start_token` = NULL
		WHERE old.`purpose` = 'activity_start' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `push_to_start_token` = old.`address`;
	DELETE FROM `live_activities` WHERE old.`purpose` = 'activity' AND `account_id` = old.`account_id` AND `device_id` = old.`recipient_id`
		AND `task_id` = old.`subject` AND `push_token` = old.`address` AND `ended_at` IS NULL;
END;
CREATE INDEX `questions_request` ON `questions` (`key_id`,`request_id`) WHERE request_id is not null;
CREATE INDEX `questions_left` ON `questions` (`key_id`) WHERE left_at is not null and status = 'pending';
CREATE UNIQUE INDEX `pairings_code` ON `pairings` (`code_digest`);
CREATE UNIQUE INDEX `pairings_link` ON `pairings` (`link_digest`);
CREATE INDEX `pairings_account` ON `pairings` (`account_id`);
CREATE INDEX `pairings_expiry` ON `pairings` (`expires_at`);
CREATE TRIGGER `pairings_sign_in_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	DELETE FROM `pairings` WHERE `account_id` = OLD.`account_id` AND (`claimed_by` = OLD.`id` OR (`session_id` = OLD.`id` AND `claimed_by` IS NULL));
END;
CREATE TRIGGER `pairings_token_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`digest` <> NEW.`digest` BEGIN
	DELETE FROM `pairings` WHERE `account_id` = NEW.`account_id` AND `session_id` = NEW.`id` AND `claimed_by` IS NULL;
END;
CREATE TRIGGER `pairings_account_ended` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `pairings` WHERE `account_id` = NEW.`id`;
END;
CREATE TRIGGER `accounts_token_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	UPDATE `accounts` SET `token_digest` = (SELECT `digest` FROM `credentials` WHERE `account_id` = OLD.`account_id` AND `kind` = 'account_token' ORDER BY `created_at`, `id` LIMIT 1)
	WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL AND (`token_digest` = OLD.`digest` OR `token_digest` LIKE 'ended %')
		AND EXISTS (SELECT 1 FROM `credentials` WHERE `account_id` = OLD.`account_id` AND `kind` = 'account_token');
END;
CREATE TRIGGER `accounts_token_added` AFTER INSERT ON `credentials` WHEN NEW.`kind` = 'account_token' BEGIN
	UPDATE `accounts` SET `token_digest` = NEW.`digest` WHERE `id` = NEW.`account_id` AND `deleted_at` IS NULL AND `token_digest` LIKE 'ended %';
END;
CREATE UNIQUE INDEX `approvals_code` ON `approvals` (`code_digest`);
CREATE UNIQUE INDEX `approvals_secret` ON `approvals` (`secret_digest`);
CREATE INDEX `approvals_expiry` ON `approvals` (`expires_at`);
CREATE INDEX `grants_key` ON `grants` (`key_id`);
CREATE INDEX `grants_account` ON `grants` (`account_id`,`client_name`);
CREATE UNIQUE INDEX `grants_code` ON `grants` (`code_digest`) WHERE code_digest is not null;
CREATE UNIQUE INDEX `grants_family` ON `grants` (`family_digest`) WHERE family_digest is not null;
CREATE INDEX `grants_expiry` ON `grants` (`expires_at`);
CREATE INDEX `credentials_grant` ON `credentials` (`grant_id`) WHERE grant_id is not null;
CREATE TRIGGER `grants_ended` AFTER DELETE ON `grants` BEGIN
	DELETE FROM `credentials` WHERE `grant_id` = OLD.`id`;
END;
CREATE TRIGGER `keys_grants_ended` AFTER UPDATE OF `deleted_at` ON `keys` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `grants` WHERE `key_id` = NEW.`id`;
END;
CREATE INDEX `channels_account` ON `channels` (`account_id`,`created_at`,`id`);
CREATE UNIQUE INDEX `channels_endpoint` ON `channels` (`endpoint_digest`) WHERE endpoint_digest is not null;
CREATE INDEX `channels_busy` ON `channels` (`claimed_at`) WHERE queued > 0;
CREATE INDEX `channels_webhooks` ON `channels` (`account_id`) WHERE type = 'webhook' and state <> 'gone';
CREATE INDEX `webhook_messages_subject` ON `webhook_messages` (`channel_id`,`subject`,`seq`);
CREATE INDEX `webhook_messages_due` ON `webhook_messages` (`channel_id`,`due_at`) WHERE head = 1 and lease is null;
CREATE INDEX `webhook_messages_expiry` ON `webhook_messages` (`expires_at`);
CREATE INDEX `webhook_messages_leased` ON `webhook_messages` (`lease`) WHERE lease is not null;
CREATE INDEX `webhook_messages_account` ON `webhook_messages` (`account_id`);
CREATE TRIGGER `events_webhooks` AFTER INSERT ON `events`
WHEN (new.`name` GLOB 'task.*' OR new.`name` GLOB 'question.*' OR new.`name` GLOB 'key.*')
	AND EXISTS (SELECT 1 FROM `channels` WHERE `account_id` = new.`account_id` AND `type` = 'webhook' AND `state` <> 'gone')
BEGIN
	UPDATE `channels` SET `missed` = `missed` + 1, `state` = 'failing', `error_code` = 'queue_full', `error_at` = new.`created_at`
		WHERE `account_id` = new.`account_id` AND `type` = 'webhook' AND `state` <> 'gone' AND `queued` >= 1000;
	INSERT INTO `webhook_messages` (`id`, `account_id`, `channel_id`, `subject`, `type`, `data`, `created_at`, `due_at`, `expires_at`, `head`)
		SELECT 'msg_' || lower(hex(randomblob(16))), c.`account_id`, c.`id`, new.`subject`, new.`name`, new.`data`,
			new.`created_at`, new.`created_at`, new.`created_at` + 86400000,
			NOT EXISTS (SELECT 1 FROM `webhook_messages` m WHERE m.`channel_id` = c.`id` AND m.`subject` = new.`subject`)
		FROM `channels` c WHERE c.`account_id` = new.`account_id` AND c.`type` = 'webhook' AND c.`state` <> 'gone' AND c.`queued` < 1000;
END;
CREATE TRIGGER `webhook_messages_insert` AFTER INSERT ON `webhook_messages` BEGIN
	UPDATE `channels` SET `queued` = `queued` + 1 WHERE `id` = new.`channel_id`;
END;
CREATE TRIGGER `webhook_messages_delete` AFTER DELETE ON `webhook_messages` BEGIN
	UPDATE `channels` SET `queued` = `queued` - 1 WHERE `id` = old.`channel_id`;
	UPDATE `webhook_messages` SET `head` = 1 WHERE old.`head` = 1 AND `seq` = (
		SELECT min(`seq`) FROM `webhook_messages` WHERE `channel_id` = old.`channel_id` AND `subject` = old.`subject`);
END;
CREATE INDEX `open_pages_process` ON `open_pages` (`process_id`);
CREATE TRIGGER `pushes_question_insert` AFTER INSERT ON `pushes` WHEN new.`kind` = 'question' BEGIN
	INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `queued_at`)
		SELECT new.`question_id`, new.`device_id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), new.`environment`, coalesce(
			(SELECT `label` FROM `push_targets` WHERE `account_id` = new.`account_id` AND `purpose` = 'alert' AND `recipient_id` = new.`device_id` AND `subject` = ''),
			(SELECT CASE `platform` WHEN 'ios' THEN 'iPhone' WHEN 'ipados' THEN 'iPad' WHEN 'watchos' THEN 'Apple Watch' END
				FROM `devices` WHERE `account_id` = new.`account_id` AND `id` = new.`device_id`),
			'Unnamed'), 'queued', new.`created_at`
		WHERE new.`question_id` IS NOT NULL
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER `push_records_question` AFTER INSERT ON `push_records` WHEN new.`kind` = 'question' BEGIN
	INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `reason`, `queued_at`, `sent_at`)
		SELECT `id`, new.`device_id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), new.`environment`, coalesce(
			(SELECT `label` FROM `push_targets` WHERE `account_id` = new.`account_id` AND `purpose` = 'alert' AND `recipient_id` = new.`device_id` AND `subject` = ''),
			(SELECT CASE `platform` WHEN 'ios' THEN 'iPhone' WHEN 'ipados' THEN 'iPad' WHEN 'watchos' THEN 'Apple Watch' END
				FROM `devices` WHERE `account_id` = new.`account_id` AND `id` = new.`device_id`),
			'Unnamed'),
			CASE WHEN new.`outcome` = 'sent' THEN 'sent' WHEN new.`outcome` = 'pointless' AND new.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END,
			coalesce(new.`reason`, CASE new.`outcome` WHEN 'sent' THEN NULL WHEN 'pointless' THEN 'question_ended' ELSE new.`outcome` END),
			new.`created_at`, CASE new.`outcome` WHEN 'sent' THEN new.`done_at` END
		FROM `questions` WHERE `id` = new.`about`
		ON CONFLICT DO UPDATE SET `status` = excluded.`status`, `reason` = excluded.`reason`, `sent_at` = excluded.`sent_at`
			WHERE `question_deliveries`.`status` <> 'sent';
END;
CREATE TRIGGER `pushes_question_delete` AFTER DELETE ON `pushes` WHEN old.`kind` = 'question' BEGIN
	UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END, `reason` = 'target_removed'
		WHERE `question_id` = old.`question_id` AND `target_id` = old.`device_id` AND `status` = 'queued';
END;
CREATE TRIGGER `questions_deliveries_delete` AFTER DELETE ON `questions` BEGIN
	DELETE FROM `question_deliveries` WHERE `question_id` = old.`id`;
END;
CREATE TRIGGER `webhook_messages_question_insert` AFTER INSERT ON `webhook_messages` WHEN new.`type` = 'question.created' BEGIN
	INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `queued_at`)
		SELECT q.`id`, c.`id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), c.`type`, c.`label`, 'queued', new.`created_at`
		FROM `questions` q, `channels` c WHERE q.`id` = new.`subject` AND c.`id` = new.`channel_id`
		ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER `webhook_messages_question_delete` AFTER DELETE ON `webhook_messages` WHEN old.`type` = 'question.created' BEGIN
	UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END,
			`reason` = CASE WHEN EXISTS (SELECT 1 FROM `channels` WHERE `id` = old.`channel_id` AND `state` <> 'gone') THEN 'expired' ELSE 'target_removed' END
		WHERE `question_id` = old.`subject` AND `target_id` = old.`channel_id` AND `status` = 'queued';
END;
CREATE INDEX `channels_session` ON `channels` (`session_id`) WHERE session_id is not null;
CREATE TRIGGER `channels_deleted` AFTER DELETE ON `channels` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = old.`account_id` AND `purpose` = 'alert' AND `recipient_id` = old.`id`;
	DELETE FROM `pushes` WHERE `account_id` = old.`account_id` AND `device_id` = old.`id` AND `token` IS NULL;
	DELETE FROM `webhook_messages` WHERE `channel_id` = old.`id`;
END;
CREATE TRIGGER `credentials_channels_ended` AFTER DELETE ON `credentials`
WHEN old.`kind` = 'account_token' AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `channels` WHERE `session_id` = old.`id`;
END;
CREATE TRIGGER `credentials_channels_replaced` AFTER UPDATE OF `digest` ON `credentials`
WHEN old.`kind` = 'account_token' AND old.`digest` <> new.`digest`
BEGIN
	DELETE FROM `channels` WHERE `session_id` = old.`id`;
END;
CREATE UNIQUE INDEX `channels_key` ON `channels` (`key_id`) WHERE key_id is not null;
CREATE INDEX `channels_due` ON `channels` (`due_at`) WHERE due_at is not null;
CREATE INDEX `webhook_messages_item` ON `webhook_messages` (`item_seq`) WHERE item_seq is not null;
CREATE TRIGGER `items_webhook_insert` AFTER INSERT ON `items`
WHEN EXISTS (SELECT 1 FROM `channels` WHERE `key_id` = new.`key_id` AND `state` <> 'gone')
BEGIN
	UPDATE `channels` SET `missed` = `missed` + 1, `state` = 'failing', `error_code` = 'queue_full', `error_at` = new.`created_at`
		WHERE `key_id` = new.`key_id` AND `queued` >= 1000;
	INSERT INTO `webhook_messages` (`id`, `account_id`, `channel_id`, `subject`, `type`, `data`, `created_at`, `due_at`, `expires_at`, `head`, `item_seq`)
		SELECT new.`id`, c.`account_id`, c.`id`, new.`key_id`, new.`type`, '{}',
			new.`created_at`, new.`created_at`, new.`created_at` + 86400000,
			NOT EXISTS (SELECT 1 FROM `webhook_messages` m WHERE m.`channel_id` = c.`id` AND m.`subject` = new.`key_id`), new.`seq`
		FROM `channels` c WHERE c.`key_id` = new.`key_id` AND c.`queued` < 1000;
END;
CREATE TRIGGER `items_webhook_read` AFTER UPDATE OF `read_at` ON `items` WHEN old.`read_at` IS NULL AND new.`read_at` IS NOT NULL BEGIN
	DELETE FROM `webhook_messages` WHERE `item_seq` = new.`seq` AND `lease` IS NULL;
END;
CREATE TRIGGER `items_webhook_delete` AFTER DELETE ON `items` WHEN old.`read_at` IS NULL BEGIN
	DELETE FROM `webhook_messages` WHERE `item_seq` = old.`seq` AND `lease` IS NULL;
END;
CREATE TRIGGER `keys_webhook_ended` AFTER DELETE ON `keys` BEGIN
	DELETE FROM `channels` WHERE `key_id` = old.`id`;
END;
CREATE TRIGGER `grants_webhook_ended` AFTER DELETE ON `grants`
WHEN EXISTS (SELECT 1 FROM `keys` WHERE `id` = old.`key_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `channels` WHERE `key_id` = old.`key_id` AND `set_by` = old.`id`;
END;
CREATE TRIGGER `webhook_messages_due_insert` AFTER INSERT ON `webhook_messages` WHEN new.`head` = 1 AND new.`lease` IS NULL BEGIN
	UPDATE `channels` SET `due_at` = max(min(coalesce(`due_at`, new.`due_at`), new.`due_at`), coalesce(`held_until`, 0))
		WHERE `id` = new.`channel_id` AND (`confirmed_at` IS NOT NULL OR new.`type` IN ('channel.test', 'webhook.test'));
END;
CREATE TRIGGER `webhook_messages_due_update` AFTER UPDATE OF `due_at`, `head`, `lease` ON `webhook_messages` BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = new.`channel_id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = new.`channel_id`;
END;
CREATE TRIGGER `webhook_messages_due_delete` AFTER DELETE ON `webhook_messages` WHEN old.`head` = 1 BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = old.`channel_id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = old.`channel_id`;
END;
CREATE TRIGGER `channels_due_update` AFTER UPDATE OF `held_until`, `confirmed_at` ON `channels`
WHEN old.`held_until` IS NOT new.`held_until` OR old.`confirmed_at` IS NOT new.`confirmed_at`
BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(new.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = new.`id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (new.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = new.`id`;
END;
CREATE INDEX `questions_action` ON `questions` (`key_id`) WHERE action is not null and status = 'pending';
CREATE INDEX `ended_tokens_owner` ON `ended_tokens` (`owner`,`ended_at`) WHERE owner is not null;
CREATE INDEX `ended_tokens_age` ON `ended_tokens` (`ended_at`);
CREATE TRIGGER `ended_tokens_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
	VALUES (OLD.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
	ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
	DELETE FROM `ended_tokens` WHERE `digest` IN (
		SELECT `digest` FROM `ended_tokens` WHERE `owner` = OLD.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
END;
CREATE TRIGGER `ended_tokens_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`kind` = 'account_token' AND OLD.`digest` <> NEW.`digest` BEGIN
	INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
	VALUES (OLD.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
	ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
	DELETE FROM `ended_tokens` WHERE `digest` IN (
		SELECT `digest` FROM `ended_tokens` WHERE `owner` = OLD.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
END;
CREATE TRIGGER `ended_tokens_disowned` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	UPDATE `ended_tokens` SET `owner` = NULL WHERE `owner` = NEW.`id`;
END;
CREATE INDEX `devices_session` ON `devices` (`session_id`) WHERE session_id is not null;
CREATE TRIGGER `credentials_devices_ended` AFTER DELETE ON `credentials`
WHEN old.`kind` = 'account_token' AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `pushes` WHERE `account_id` = old.`account_id`
		AND `device_id` IN (SELECT `id` FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`);
	DELETE FROM `live_activities` WHERE `account_id` = old.`account_id`
		AND `device_id` IN (SELECT `id` FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`);
	DELETE FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`;
END;
CREATE INDEX `pushes_waiting` ON `pushes` (`environment`,`account_id`,`urgency`,`due_at`) WHERE lease is null;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('webhook_messages',12);
INSERT INTO "sqlite_sequence" VALUES('events',32);
INSERT INTO "sqlite_sequence" VALUES('pushes',34);
INSERT INTO "sqlite_sequence" VALUES('push_records',21);
INSERT INTO "sqlite_sequence" VALUES('items',3);
