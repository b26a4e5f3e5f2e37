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
);
--> statement-breakpoint
CREATE INDEX `channels_account` ON `channels` (`account_id`,`created_at`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `channels_endpoint` ON `channels` (`endpoint_digest`) WHERE endpoint_digest is not null;--> statement-breakpoint
CREATE INDEX `channels_busy` ON `channels` (`claimed_at`) WHERE queued > 0;--> statement-breakpoint
CREATE INDEX `channels_webhooks` ON `channels` (`account_id`) WHERE type = 'webhook' and state <> 'gone';--> statement-breakpoint
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
);
--> statement-breakpoint
CREATE INDEX `webhook_messages_subject` ON `webhook_messages` (`channel_id`,`subject`,`seq`);--> statement-breakpoint
CREATE INDEX `webhook_messages_due` ON `webhook_messages` (`channel_id`,`due_at`) WHERE head = 1 and lease is null;--> statement-breakpoint
CREATE INDEX `webhook_messages_expiry` ON `webhook_messages` (`expires_at`);--> statement-breakpoint
CREATE INDEX `webhook_messages_leased` ON `webhook_messages` (`lease`) WHERE lease is not null;--> statement-breakpoint
CREATE INDEX `webhook_messages_account` ON `webhook_messages` (`account_id`);
--> statement-breakpoint
-- Each event of a task, a question or a key becomes a message for each webhook of its account, in the batch
-- of its change and whichever version writes it. One that finds a full queue is counted.
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
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_insert` AFTER INSERT ON `webhook_messages` BEGIN
	UPDATE `channels` SET `queued` = `queued` + 1 WHERE `id` = new.`channel_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_delete` AFTER DELETE ON `webhook_messages` BEGIN
	UPDATE `channels` SET `queued` = `queued` - 1 WHERE `id` = old.`channel_id`;
	UPDATE `webhook_messages` SET `head` = 1 WHERE old.`head` = 1 AND `seq` = (
		SELECT min(`seq`) FROM `webhook_messages` WHERE `channel_id` = old.`channel_id` AND `subject` = old.`subject`);
END;
