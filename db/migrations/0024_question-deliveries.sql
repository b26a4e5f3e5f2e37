-- Processes with open pages, each with a lease by the store's clock; accounts with a page, by process.
CREATE TABLE `page_processes` (
	`id` text PRIMARY KEY NOT NULL,
	`until` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `open_pages` (
	`account_id` text NOT NULL,
	`process_id` text NOT NULL,
	PRIMARY KEY(`account_id`, `process_id`)
);
--> statement-breakpoint
CREATE INDEX `open_pages_process` ON `open_pages` (`process_id`);
--> statement-breakpoint
-- How the person knows a target; null for devices, which have no name.
ALTER TABLE `push_targets` ADD `label` text;
--> statement-breakpoint
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
--> statement-breakpoint
-- What is planned for a target, whichever version plans it. An id is its prefix and a UUIDv7, as in src/ids.ts.
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
--> statement-breakpoint
-- How it ended. A row that was planned before this migration is made here. What was tried and then became
-- obsolete may have arrived.
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
--> statement-breakpoint
-- One that goes without a record: its target was removed. With a record it is not `queued` any more.
CREATE TRIGGER `pushes_question_delete` AFTER DELETE ON `pushes` WHEN old.`kind` = 'question' BEGIN
	UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END, `reason` = 'target_removed'
		WHERE `question_id` = old.`question_id` AND `target_id` = old.`device_id` AND `status` = 'queued';
END;
--> statement-breakpoint
CREATE TRIGGER `questions_deliveries_delete` AFTER DELETE ON `questions` BEGIN
	DELETE FROM `question_deliveries` WHERE `question_id` = old.`id`;
END;
--> statement-breakpoint
-- The same for the messages of webhooks. The worker says what was accepted or is not wanted; what goes otherwise
-- was given up, or its channel was.
CREATE TRIGGER `webhook_messages_question_insert` AFTER INSERT ON `webhook_messages` WHEN new.`type` = 'question.created' BEGIN
	INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `queued_at`)
		SELECT q.`id`, c.`id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), c.`type`, c.`label`, 'queued', new.`created_at`
		FROM `questions` q, `channels` c WHERE q.`id` = new.`subject` AND c.`id` = new.`channel_id`
		ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_question_delete` AFTER DELETE ON `webhook_messages` WHEN old.`type` = 'question.created' BEGIN
	UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END,
			`reason` = CASE WHEN EXISTS (SELECT 1 FROM `channels` WHERE `id` = old.`channel_id` AND `state` <> 'gone') THEN 'expired' ELSE 'target_removed' END
		WHERE `question_id` = old.`subject` AND `target_id` = old.`channel_id` AND `status` = 'queued';
END;
