CREATE TABLE relay_migrations (hash text primary key, applied_at integer not null);
CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`live_activities` integer NOT NULL,
	`token_digest` text NOT NULL,
	`change_id` text NOT NULL,
	`deleted_at` integer
);
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`subject` text NOT NULL,
	`name` text NOT NULL,
	`data` text NOT NULL,
	`created_at` integer NOT NULL
);
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
, `unread` integer DEFAULT 0 NOT NULL);
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
);
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
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`)
);
CREATE TABLE `secrets` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
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
CREATE TABLE `idempotency` (
	`id` text PRIMARY KEY NOT NULL,
	`body` text NOT NULL,
	`resource_id` text NOT NULL,
	`account_id` text NOT NULL,
	`key_id` text,
	`created_at` integer NOT NULL
);
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
CREATE TABLE `challenges` (
	`challenge` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
CREATE TABLE `account_creations` (
	`seq` integer PRIMARY KEY NOT NULL,
	`origin` text NOT NULL,
	`created_at` integer NOT NULL
);
CREATE TABLE `activity_blocks` (
	`id` text NOT NULL,
	`key_id` text NOT NULL,
	`at` integer NOT NULL,
	`size` integer NOT NULL,
	`entries` text NOT NULL
);
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
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('8e26b5f071abe83da65c108cc8e6160a69ba4667c2b4989318d223e7178fe24a', 1795345455574);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('a4a4e0e9ba630173106536de8af623e8ea2521695560ac822691b55f8ee2c568', 1795345455579);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('b2b0351864fae531a93c3192837373a6eb3745ce359d74d5744b233555126feb', 1795345455588);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('82c3e8c1c1df614821c43227668b9719bd10f5e005bbf6bd97eadea8ebca1c94', 1795345455600);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('e27ac527c60b48f60852182a8d861f05d6c817f71178c4053751d5753676d93c', 1795345455612);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('35a9b57bb318449749bc8d3717d35204105b11f70b914d58e82e7feee2d4f5fe', 1795345455620);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('c81af9a57be700f8e8cab1b2ef2b7a7921e6def2ca4a804934dda6820ac69758', 1795345455628);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('7e9ba4c23148925ba5a2c667b4e01c4e65d258f46507af138ac96e98b2ec1664', 1795345455629);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('0b8a2763cdf7359d39bc6d41e8a7e5a123eb40e265424e2edc27ce377bf254d2', 1795345455630);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('2c7456861bee21a1453438669c5886fd908bfafdea73ca9523088a4e1fe9819a', 1795345455631);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('16797e615aeacca68fd7cf0cbbdfb01edc898f56487d78438e97ec6e83ca7234', 1795345455631);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('061b24e8c30b5f89eb6193e8d086176d0d11a46b23673ddbb707fd1ee9c1053f', 1795345455632);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('39dc8c591754987b734e89e48500d44c3d272bddd3d0aff568daeb01bb9abb29', 1795345455636);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('a2d2fcf846a1fcd0333bc4d85ce3a1fbb6b59b8019e5dc7548c9b41a0f69e855', 1795345455637);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('02b29da894d9e401862db82daee56d2b5e7f19ec5a2c16fab104f2bdb373ee8f', 1795345455640);
INSERT INTO "relay_migrations" (hash, applied_at) VALUES ('353904a866fb79edeb70b2c12f659908a9865cda4433b54ae3fd4b0471a79a5a', 1795345455643);
INSERT INTO "accounts" (id, created_at, live_activities, token_digest, change_id, deleted_at) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 1790000000000, 1, 'sb6L7ZKpqAnYTMM9EgUBgQC49KCNXrB42cW6T84LUFk', 'sie_sL4u1uSQ1', NULL);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (1, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c0072338bda464e6805a6ac', 'key.created', '{"key":{"id":"key_01a0c4506c0072338bda464e6805a6ac","label":"builder","prefix":"mck_hvHT","last4":"kL9U","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (2, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c007234a982040baa0ff412', 'key.created', '{"key":{"id":"key_01a0c4506c007234a982040baa0ff412","label":"tester","prefix":"mck_oeV0","last4":"LQas","created_at":1790000000,"last_used_at":null,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":0,"cancelled":0}}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (3, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c0072359221fb8a48b75605', 'task.created', '{"task":{"id":"tsk_01a0c4506c0072359221fb8a48b75605","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"Shown","description":"","status":"in_progress","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":null,"seen_at":1790000000,"host":null}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (4, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c007236be0defcbd65c0294', 'task.created', '{"task":{"id":"tsk_01a0c4506c007236be0defcbd65c0294","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"Ends","description":"","status":"in_progress","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":null,"seen_at":1790000000,"host":null}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (5, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c007237b36af19797ae944d', 'task.created', '{"task":{"id":"tsk_01a0c4506c007237b36af19797ae944d","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"Waits","description":"","status":"todo","priority":"medium","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":null,"seen_at":1790000000,"host":null}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (6, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c007238a19943470dbda6b0', 'task.created', '{"task":{"id":"tsk_01a0c4506c007238a19943470dbda6b0","key_id":"key_01a0c4506c007234a982040baa0ff412","title":"Finished","description":"","status":"done","priority":"medium","notify":true,"progress":100,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000000,"completed_at":1790000000,"seen_at":1790000000,"host":null}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (7, 'acc_01a0c4506c007232af921a6d8e3402be', 'qst_01a0c4506c0072398af2b994e33b5678', 'question.created', '{"question":{"id":"qst_01a0c4506c0072398af2b994e33b5678","key_id":"key_01a0c4506c0072338bda464e6805a6ac","task_id":null,"prompt":"Shown?","kind":"confirm","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000000,"answered_at":null,"expires_at":1790003600}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (8, 'acc_01a0c4506c007232af921a6d8e3402be', 'qst_01a0c4506c00723aa44b988e87663388', 'question.created', '{"question":{"id":"qst_01a0c4506c00723aa44b988e87663388","key_id":"key_01a0c4506c007234a982040baa0ff412","task_id":null,"prompt":"Which?","kind":"choice","options":["a","b"],"status":"pending","answer":null,"created_at":1790000000,"answered_at":null,"expires_at":1790003600}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (9, 'acc_01a0c4506c007232af921a6d8e3402be', 'qst_01a0c4506c00723aa44b988e87663388', 'question.updated', '{"question":{"id":"qst_01a0c4506c00723aa44b988e87663388","key_id":"key_01a0c4506c007234a982040baa0ff412","task_id":null,"prompt":"Which?","kind":"choice","options":["a","b"],"status":"answered","answer":"a","created_at":1790000000,"answered_at":1790000000,"expires_at":1790003600}}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (10, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c007234a982040baa0ff412 inbox', 'inbox.updated', '{"key_id":"key_01a0c4506c007234a982040baa0ff412","unread":1}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (11, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c0072338bda464e6805a6ac inbox', 'inbox.updated', '{"key_id":"key_01a0c4506c0072338bda464e6805a6ac","unread":1}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (12, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c0072338bda464e6805a6ac inbox', 'inbox.updated', '{"key_id":"key_01a0c4506c0072338bda464e6805a6ac","unread":2}', 1790000000000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (13, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4515a48702fb35c266b0724406e', 'task.created', '{"task":{"id":"tsk_01a0c4515a48702fb35c266b0724406e","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"New","description":"","status":"in_progress","priority":"urgent","notify":true,"progress":null,"status_note":null,"source":"agent","created_at":1790000061,"updated_at":1790000061,"completed_at":null,"seen_at":1790000061,"host":null}}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (14, 'acc_01a0c4506c007232af921a6d8e3402be', 'qst_01a0c4515a487030b19181f3d9b10483', 'question.created', '{"question":{"id":"qst_01a0c4515a487030b19181f3d9b10483","key_id":"key_01a0c4506c0072338bda464e6805a6ac","task_id":"tsk_01a0c4506c0072359221fb8a48b75605","prompt":"Go on?","kind":"choice","options":["Yes","No"],"status":"pending","answer":null,"created_at":1790000061,"answered_at":null,"expires_at":1790003661}}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (15, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c0072359221fb8a48b75605', 'task.updated', '{"task":{"id":"tsk_01a0c4506c0072359221fb8a48b75605","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"Shown","description":"","status":"in_progress","priority":"medium","notify":true,"progress":40,"status_note":"forty","source":"agent","created_at":1790000000,"updated_at":1790000061,"completed_at":null,"seen_at":1790000000,"host":null}}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (16, 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c007236be0defcbd65c0294', 'task.updated', '{"task":{"id":"tsk_01a0c4506c007236be0defcbd65c0294","key_id":"key_01a0c4506c0072338bda464e6805a6ac","title":"Ends","description":"","status":"done","priority":"medium","notify":true,"progress":100,"status_note":null,"source":"agent","created_at":1790000000,"updated_at":1790000061,"completed_at":1790000061,"seen_at":1790000000,"host":null}}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (17, 'acc_01a0c4506c007232af921a6d8e3402be', 'qst_01a0c4506c0072398af2b994e33b5678', 'question.updated', '{"question":{"id":"qst_01a0c4506c0072398af2b994e33b5678","key_id":"key_01a0c4506c0072338bda464e6805a6ac","task_id":null,"prompt":"Shown?","kind":"confirm","options":["Yes","No"],"status":"answered","answer":"Yes","created_at":1790000000,"answered_at":1790000061,"expires_at":1790003600}}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (18, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c0072338bda464e6805a6ac inbox', 'inbox.updated', '{"key_id":"key_01a0c4506c0072338bda464e6805a6ac","unread":3}', 1790000061000);
INSERT INTO "events" (seq, account_id, subject, name, data, created_at) VALUES (19, 'acc_01a0c4506c007232af921a6d8e3402be', 'key_01a0c4506c007234a982040baa0ff412', 'key.updated', '{"key":{"id":"key_01a0c4506c007234a982040baa0ff412","label":"checker","prefix":"mck_oeV0","last4":"LQas","created_at":1790000000,"last_used_at":1790000000,"last_client":null,"last_host":null,"counts":{"todo":0,"in_progress":0,"done":1,"cancelled":0}}}', 1790000063000);
INSERT INTO "keys" (id, account_id, label, prefix, last4, secret_digest, created_at, last_used_at, last_client, last_host, tasks_todo, tasks_in_progress, tasks_done, tasks_cancelled, change_id, deleted_at, unread) VALUES ('key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'builder', 'mck_hvHT', 'kL9U', 'T38IJYDzsC7nyb7yldAo1wXVBQFIhVcbn-8Ew_D-tqk', 1790000000000, 1790000061000, NULL, NULL, 1, 2, 1, 0, 'sie_sL4u1uSQ2', NULL, 3);
INSERT INTO "keys" (id, account_id, label, prefix, last4, secret_digest, created_at, last_used_at, last_client, last_host, tasks_todo, tasks_in_progress, tasks_done, tasks_cancelled, change_id, deleted_at, unread) VALUES ('key_01a0c4506c007234a982040baa0ff412', 'acc_01a0c4506c007232af921a6d8e3402be', 'checker', 'mck_oeV0', 'LQas', '1ZedhaR9MxKD5HZQVz7G6l_kG7w6z4beYwIu4pPln_o', 1790000000000, 1790000000000, NULL, NULL, 0, 0, 1, 0, 'sie_sL4u1uSQt', NULL, 1);
INSERT INTO "questions" (id, key_id, account_id, task_id, prompt, kind, options, status, answer, created_at, answered_at, expires_at, change_id) VALUES ('qst_01a0c4506c0072398af2b994e33b5678', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', NULL, 'Shown?', 'confirm', '["Yes","No"]', 'answered', 'Yes', 1790000000000, 1790000061000, 1790003600000, 'sie_sL4u1uSQr');
INSERT INTO "questions" (id, key_id, account_id, task_id, prompt, kind, options, status, answer, created_at, answered_at, expires_at, change_id) VALUES ('qst_01a0c4506c00723aa44b988e87663388', 'key_01a0c4506c007234a982040baa0ff412', 'acc_01a0c4506c007232af921a6d8e3402be', NULL, 'Which?', 'choice', '["a","b"]', 'answered', 'a', 1790000000000, 1790000000000, 1790003600000, 'sie_sL4u1uSQg');
INSERT INTO "questions" (id, key_id, account_id, task_id, prompt, kind, options, status, answer, created_at, answered_at, expires_at, change_id) VALUES ('qst_01a0c4515a487030b19181f3d9b10483', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'tsk_01a0c4506c0072359221fb8a48b75605', 'Go on?', 'choice', '["Yes","No"]', 'pending', NULL, 1790000061000, NULL, 1790003661000, 'sie_sL4u1uSQo');
INSERT INTO "tasks" (id, key_id, account_id, title, description, status, priority, notify, progress, status_note, source, created_at, updated_at, completed_at, seen_at, host, change_id) VALUES ('tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'Shown', '', 'in_progress', 'medium', 1, 40, 'forty', 'agent', 1790000000000, 1790000061000, NULL, 1790000000000, NULL, 'sie_sL4u1uSQp');
INSERT INTO "tasks" (id, key_id, account_id, title, description, status, priority, notify, progress, status_note, source, created_at, updated_at, completed_at, seen_at, host, change_id) VALUES ('tsk_01a0c4506c007236be0defcbd65c0294', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'Ends', '', 'done', 'medium', 1, 100, NULL, 'agent', 1790000000000, 1790000061000, 1790000061000, 1790000000000, NULL, 'sie_sL4u1uSQq');
INSERT INTO "tasks" (id, key_id, account_id, title, description, status, priority, notify, progress, status_note, source, created_at, updated_at, completed_at, seen_at, host, change_id) VALUES ('tsk_01a0c4506c007237b36af19797ae944d', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'Waits', '', 'todo', 'medium', 1, NULL, NULL, 'agent', 1790000000000, 1790000000000, NULL, 1790000000000, NULL, 'sie_sL4u1uSQ8');
INSERT INTO "tasks" (id, key_id, account_id, title, description, status, priority, notify, progress, status_note, source, created_at, updated_at, completed_at, seen_at, host, change_id) VALUES ('tsk_01a0c4506c007238a19943470dbda6b0', 'key_01a0c4506c007234a982040baa0ff412', 'acc_01a0c4506c007232af921a6d8e3402be', 'Finished', '', 'done', 'medium', 1, 100, NULL, 'agent', 1790000000000, 1790000000000, 1790000000000, 1790000000000, NULL, 'sie_sL4u1uSQa');
INSERT INTO "tasks" (id, key_id, account_id, title, description, status, priority, notify, progress, status_note, source, created_at, updated_at, completed_at, seen_at, host, change_id) VALUES ('tsk_01a0c4515a48702fb35c266b0724406e', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'New', '', 'in_progress', 'urgent', 1, NULL, NULL, 'agent', 1790000061000, 1790000061000, NULL, 1790000061000, NULL, 'sie_sL4u1uSQm');
INSERT INTO "devices" (account_id, id, platform, model, os_version, app_version, apns_environment, apns_token, push_to_start_token, widget_push_token, updated_at) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'ios', 'iPhone18,1', '27.1', '1.4.0', 'sandbox', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', 'b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1', 'c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1', 1790000000000);
INSERT INTO "devices" (account_id, id, platform, model, os_version, app_version, apns_environment, apns_token, push_to_start_token, widget_push_token, updated_at) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'ios', 'iPhone18,1', '27.1', '1.4.0', 'sandbox', 'a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2', 'b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2', 'c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2', 1790000000000);
INSERT INTO "secrets" (name, value) VALUES ('signing', 'sig_ct5S5cyy6ckYRrDmRY5xVsE5j520fgY9QG52U87NxTY');
INSERT INTO "items" (seq, id, key_id, account_id, type, from_key_id, from_label, task_id, question_id, changes, last_task, text, created_at, read_at, change_id) VALUES (1, 'itm_01a0c4506c00723b968d9eed1d7196a1', 'key_01a0c4506c007234a982040baa0ff412', 'acc_01a0c4506c007232af921a6d8e3402be', 'question.answered', NULL, NULL, NULL, 'qst_01a0c4506c00723aa44b988e87663388', '[]', NULL, NULL, 1790000000000, NULL, 'sie_sL4u1uSQh');
INSERT INTO "items" (seq, id, key_id, account_id, type, from_key_id, from_label, task_id, question_id, changes, last_task, text, created_at, read_at, change_id) VALUES (2, 'itm_01a0c4506c00723cabe2b8030f61312d', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'message', NULL, NULL, NULL, NULL, '[]', NULL, 'from the person', 1790000000000, NULL, 'sie_sL4u1uSQi');
INSERT INTO "items" (seq, id, key_id, account_id, type, from_key_id, from_label, task_id, question_id, changes, last_task, text, created_at, read_at, change_id) VALUES (3, 'itm_01a0c4506c00723d8142fb810abf6a61', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'message', 'key_01a0c4506c007234a982040baa0ff412', 'tester', NULL, NULL, '[]', NULL, 'from the tester', 1790000000000, NULL, 'sie_sL4u1uSQk');
INSERT INTO "items" (seq, id, key_id, account_id, type, from_key_id, from_label, task_id, question_id, changes, last_task, text, created_at, read_at, change_id) VALUES (4, 'itm_01a0c4515a487031beb23d07bc051b0c', 'key_01a0c4506c0072338bda464e6805a6ac', 'acc_01a0c4506c007232af921a6d8e3402be', 'question.answered', NULL, NULL, NULL, 'qst_01a0c4506c0072398af2b994e33b5678', '[]', NULL, NULL, 1790000061000, NULL, 'sie_sL4u1uSQs');
INSERT INTO "idempotency" (id, body, resource_id, account_id, key_id, created_at) VALUES ('SVgK32aVnRBriquNWpqCElRh6ExWLHmktYKs2M5ocEY', '8EYDnEkExM3gFXgDsjcpsAD0AdsMMgVlCbZkXwX8BI0', 'itm_01a0c4506c00723cabe2b8030f61312d', 'acc_01a0c4506c007232af921a6d8e3402be', NULL, 1790000000000);
INSERT INTO "live_activities" (account_id, device_id, task_id, key_id, push_token, created_at, updated_at, ended_at, stamp) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'd1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1', 1790000000000, 1790000000000, NULL, 1790000001);
INSERT INTO "live_activities" (account_id, device_id, task_id, key_id, push_token, created_at, updated_at, ended_at, stamp) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'd2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2', 1790000000000, 1790000000000, NULL, 1790000001);
INSERT INTO "live_activities" (account_id, device_id, task_id, key_id, push_token, created_at, updated_at, ended_at, stamp) VALUES ('acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'tsk_01a0c4506c007236be0defcbd65c0294', 'key_01a0c4506c0072338bda464e6805a6ac', 'd3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3', 1790000000000, 1790000000000, 1790000061000, 1790000001);
INSERT INTO "activity_blocks" (id, key_id, at, size, entries) VALUES ('act_01a0c4506c64736daedccbaf79c2f4fb', 'key_01a0c4506c0072338bda464e6805a6ac', 1790000000000, 4, '[[1790000000000,"rest","POST /v1/tasks",0],[1790000000000,"rest","POST /v1/tasks",0],[1790000000000,"rest","POST /v1/tasks",0],[1790000000000,"rest","POST /v1/questions",0]]');
INSERT INTO "activity_blocks" (id, key_id, at, size, entries) VALUES ('act_01a0c4506c64736e8348fdacd7c7aae0', 'key_01a0c4506c007234a982040baa0ff412', 1790000000000, 3, '[[1790000000000,"rest","POST /v1/tasks",0],[1790000000000,"rest","POST /v1/questions",0],[1790000000000,"rest","POST /v1/messages",0]]');
INSERT INTO "activity_blocks" (id, key_id, at, size, entries) VALUES ('act_01a0c4515aac721db6b8abd95225f89b', 'key_01a0c4506c0072338bda464e6805a6ac', 1790000061000, 4, '[[1790000061000,"rest","POST /v1/tasks",0],[1790000061000,"rest","POST /v1/questions",0],[1790000061000,"rest","PATCH /v1/tasks/{task_id}",0],[1790000061000,"rest","PATCH /v1/tasks/{task_id}",0]]');
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (1, 'e238539d-0ff8-46b9-a228-0eaac3bedcd1', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c0072359221fb8a48b75605', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (2, '58a796d3-c997-41bf-aa15-8d281a699772', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c0072359221fb8a48b75605', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (3, '3ef8198b-830a-4dc3-a2cd-aa3c8f95bdf1', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'start', 'tsk_01a0c4506c0072359221fb8a48b75605', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (4, '85baebbc-bb67-47cd-a281-c6a399720789', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'start', 'tsk_01a0c4506c0072359221fb8a48b75605', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (5, '631f664b-d473-4367-a5b0-c10d5987b0f6', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'widget', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (6, '76e349d6-d017-4647-a5c3-a90b09426467', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'widget', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (7, '9e80bffc-6e4d-4734-a03a-5699ab0f93e5', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c007236be0defcbd65c0294', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (8, '8803f2ed-88ee-44ba-ad79-d7767f28faac', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'start', 'tsk_01a0c4506c007236be0defcbd65c0294', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (9, '5a6e9325-b647-4b3b-a52d-8e8b86b186cd', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'start', 'tsk_01a0c4506c007236be0defcbd65c0294', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (10, '91710b0e-88f1-4d2a-a150-a916810f0b52', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c007236be0defcbd65c0294', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (11, 'd1ce31ca-65c7-45c5-a827-7920377b2f0c', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c007237b36af19797ae944d', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (12, 'f395b047-b5cf-4189-ae07-c3f0eb41b3ef', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'task', 'tsk_01a0c4506c007237b36af19797ae944d', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (13, '9cd19428-154d-4fc9-ac96-e6c4f579a14c', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c007234a982040baa0ff412', 'task', 'tsk_01a0c4506c007238a19943470dbda6b0', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (14, '580bddd3-d77c-434b-ae18-e072adbae0f7', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c007234a982040baa0ff412', 'task', 'tsk_01a0c4506c007238a19943470dbda6b0', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (15, '326aa0ec-4605-4d26-a53d-0b75267c8b38', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c0072338bda464e6805a6ac', 'question', 'qst_01a0c4506c0072398af2b994e33b5678', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (16, '16850630-7ff1-4d31-a4b7-d65bcf5670f4', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c0072338bda464e6805a6ac', 'question', 'qst_01a0c4506c0072398af2b994e33b5678', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (17, '9901ce5f-097c-4038-aec6-0f70d88014cf', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'key_01a0c4506c007234a982040baa0ff412', 'question', 'qst_01a0c4506c00723aa44b988e87663388', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (18, '7337ac74-7c9d-4f1f-a88a-2c2fd3776386', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'key_01a0c4506c007234a982040baa0ff412', 'question', 'qst_01a0c4506c00723aa44b988e87663388', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (19, 'e0c57f38-aa7a-4df1-a3f6-97bebe015329', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', NULL, 'clear', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (20, '7dcbe1a9-8ec5-41d4-aec9-d89ce2d6d1ec', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', NULL, 'clear', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000000000, 1790000000000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (21, 'c98d35ee-3abb-46a6-ae2a-655409ffc919', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', NULL, 'widget', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000060000, 1790000060000);
INSERT INTO "push_records" (seq, apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at) VALUES (22, '56050da7-259b-4281-a9e3-670a755cb03a', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', NULL, 'widget', '', 'sandbox', 'sent', NULL, 1, 1790000000000, 1790000060000, 1790000060000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (31, '483d8ecb-4c9d-469f-ab9c-3c781418abcd', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'task', 'tsk_01a0c4515a48702fb35c266b0724406e', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4515a48702fb35c266b0724406e', NULL, 'sandbox', NULL, '["created"]', NULL, 1, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 1, 1790000061000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (32, '227fdc63-f6c1-46e8-a794-afeacc969b0d', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'task', 'tsk_01a0c4515a48702fb35c266b0724406e', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4515a48702fb35c266b0724406e', NULL, 'sandbox', NULL, '["created"]', NULL, 1, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 1, 1790000061000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (33, '0383c29a-65ec-4d97-aa2c-c6e96ce5e75b', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'widget', '', 'key_01a0c4506c0072338bda464e6805a6ac', NULL, NULL, 'sandbox', NULL, '[]', NULL, 2, 1790000120000, 1790000720000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (34, '61ceea0c-eef3-4eca-a55f-f6dbf7597236', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'widget', '', 'key_01a0c4506c0072338bda464e6805a6ac', NULL, NULL, 'sandbox', NULL, '[]', NULL, 2, 1790000120000, 1790000720000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (35, '2da2fae3-4561-468b-a2ac-5ccfe05245b3', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'start', 'tsk_01a0c4515a48702fb35c266b0724406e', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4515a48702fb35c266b0724406e', NULL, 'sandbox', NULL, '["created"]', NULL, 1, 1790000061000, 1790000961000, 1790000061000, NULL, 0, 1, 1790000061000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (36, 'e2f9e8a6-d6e7-41a6-a22a-2919cdc5d49a', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'start', 'tsk_01a0c4515a48702fb35c266b0724406e', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4515a48702fb35c266b0724406e', NULL, 'sandbox', NULL, '["created"]', NULL, 1, 1790000061000, 1790000961000, 1790000061000, NULL, 0, 1, 1790000061000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (37, '12e09a0c-f47b-479a-ac10-8336c4bd22fd', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'question', 'qst_01a0c4515a487030b19181f3d9b10483', 'key_01a0c4506c0072338bda464e6805a6ac', NULL, 'qst_01a0c4515a487030b19181f3d9b10483', 'sandbox', NULL, '[]', NULL, 0, 1790000078000, 1790003661000, 1790000061000, 'dead', 0, 1, 1790000063000);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (38, '9062fbac-bd0c-4ee9-a3f6-1e3c844c99e0', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'question', 'qst_01a0c4515a487030b19181f3d9b10483', 'key_01a0c4506c0072338bda464e6805a6ac', NULL, 'qst_01a0c4515a487030b19181f3d9b10483', 'sandbox', NULL, '[]', NULL, 0, 1790000061000, 1790003661000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (39, 'f8a65e5e-7bdb-4537-a9cd-612f146f2776', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'update', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c0072359221fb8a48b75605', NULL, 'sandbox', NULL, '["status_note","question","progress"]', NULL, 1, 1790000061000, 1790000961000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (40, 'f34528c5-a492-4f7b-a594-d711984ad54f', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'update', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c0072359221fb8a48b75605', NULL, 'sandbox', NULL, '["status_note","question","progress"]', NULL, 1, 1790000061000, 1790000961000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (41, '38d9b7c0-d01d-49d7-a761-d5902146ff8a', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'task', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c0072359221fb8a48b75605', NULL, 'sandbox', NULL, '["progress","status_note"]', NULL, 2, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (42, '1379e280-e604-4664-ace7-717358fe5c53', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'task', 'tsk_01a0c4506c0072359221fb8a48b75605', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c0072359221fb8a48b75605', NULL, 'sandbox', NULL, '["progress","status_note"]', NULL, 2, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (45, '788e3568-dee3-414e-ac93-e8abf4e432fd', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'task', 'tsk_01a0c4506c007236be0defcbd65c0294', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c007236be0defcbd65c0294', NULL, 'sandbox', NULL, '["status","progress"]', NULL, 1, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (46, '20c6b53e-4045-4904-a5f6-3520b7c3a389', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'task', 'tsk_01a0c4506c007236be0defcbd65c0294', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c007236be0defcbd65c0294', NULL, 'sandbox', NULL, '["status","progress"]', NULL, 1, 1790000061000, 1790086461000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (49, '651a70d7-e7d1-4fbc-a300-e7e815411f8a', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'end', 'tsk_01a0c4506c007236be0defcbd65c0294 1790000000000', 'key_01a0c4506c0072338bda464e6805a6ac', 'tsk_01a0c4506c007236be0defcbd65c0294', NULL, 'sandbox', 'd3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3', '[]', NULL, 1, 1790000061000, 1790028861000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (50, 'a673158b-c42d-4f0f-a879-b790f7bcecd7', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000001', 'silent', '', NULL, NULL, NULL, 'sandbox', NULL, '["qst_01a0c4506c0072398af2b994e33b5678"]', NULL, 2, 1790000062500, 1790000663000, 1790000061000, NULL, 0, 0, NULL);
INSERT INTO "pushes" (seq, apns_id, account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, more, urgency, due_at, expires_at, created_at, lease, unclear, attempts, tried_at) VALUES (51, '2cfd429c-a450-4e46-a4f5-759ba417ac18', 'acc_01a0c4506c007232af921a6d8e3402be', 'dev_00000000-0000-4000-8000-000000000002', 'silent', '', NULL, NULL, NULL, 'sandbox', NULL, '["qst_01a0c4506c0072398af2b994e33b5678"]', NULL, 2, 1790000062500, 1790000663000, 1790000061000, NULL, 0, 0, NULL);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('events', 19);
INSERT INTO sqlite_sequence (name, seq) VALUES ('pushes', 53);
INSERT INTO sqlite_sequence (name, seq) VALUES ('push_records', 22);
INSERT INTO sqlite_sequence (name, seq) VALUES ('items', 4);
CREATE UNIQUE INDEX `accounts_token` ON `accounts` (`token_digest`);
CREATE UNIQUE INDEX `keys_secret` ON `keys` (`secret_digest`);
CREATE INDEX `keys_account` ON `keys` (`account_id`,`created_at`,`id`);
CREATE INDEX `questions_key` ON `questions` (`key_id`,`status`,`created_at`,`id`);
CREATE INDEX `questions_account` ON `questions` (`account_id`,`status`,`created_at`,`id`,`key_id`);
CREATE INDEX `questions_task` ON `questions` (`task_id`,`status`) WHERE task_id is not null;
CREATE INDEX `questions_due` ON `questions` (`expires_at`) WHERE status = 'pending';
CREATE INDEX `tasks_key` ON `tasks` (`key_id`,`status`,`updated_at`,`id`);
CREATE INDEX `tasks_account` ON `tasks` (`account_id`,`status`,`updated_at`,`id`,`key_id`);
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
CREATE TRIGGER `items_counted` AFTER INSERT ON `items` WHEN NEW.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` + 1 WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `items_read` AFTER UPDATE OF `read_at` ON `items` WHEN OLD.`read_at` IS NULL AND NEW.`read_at` IS NOT NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = NEW.`key_id`;
END;
CREATE TRIGGER `items_uncounted` AFTER DELETE ON `items` WHEN OLD.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = OLD.`key_id`;
END;
