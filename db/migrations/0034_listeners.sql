CREATE TABLE `channel_links` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`session_id` text NOT NULL,
	`type` text NOT NULL,
	`label` text NOT NULL,
	`listener` text NOT NULL,
	`address` text NOT NULL,
	`code_digest` text NOT NULL,
	`visitor` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `channel_links_code` ON `channel_links` (`code_digest`);--> statement-breakpoint
CREATE INDEX `channel_links_account` ON `channel_links` (`account_id`);--> statement-breakpoint
CREATE INDEX `channel_links_listener` ON `channel_links` (`listener`);--> statement-breakpoint
CREATE INDEX `channel_links_expiry` ON `channel_links` (`expires_at`);--> statement-breakpoint
CREATE TABLE `channel_messages` (
	`channel_id` text NOT NULL,
	`subject` text NOT NULL,
	`handle` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`channel_id`, `handle`)
);
--> statement-breakpoint
CREATE INDEX `channel_messages_subject` ON `channel_messages` (`channel_id`,`subject`,`at`);--> statement-breakpoint
CREATE INDEX `channel_messages_at` ON `channel_messages` (`at`);--> statement-breakpoint
CREATE TABLE `listeners` (
	`key` text PRIMARY KEY NOT NULL,
	`lease` text,
	`position` text,
	`changed_at` integer NOT NULL,
	`version` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `listeners_lease` ON `listeners` (`lease`);--> statement-breakpoint
CREATE INDEX `listeners_version` ON `listeners` (`version`);--> statement-breakpoint
ALTER TABLE `questions` ADD `answered_by` text;--> statement-breakpoint
ALTER TABLE `channels` ADD `listener` text;--> statement-breakpoint
ALTER TABLE `channels` ADD `listen_error` text;--> statement-breakpoint
ALTER TABLE `channels` ADD `listen_error_at` integer;--> statement-breakpoint
ALTER TABLE `channels` ADD `reached_at` integer;--> statement-breakpoint
CREATE INDEX `channels_listener` ON `channels` (`listener`) WHERE listener is not null;
--> statement-breakpoint
-- A listener changes with its channels and links; the version tells every process.
CREATE TRIGGER `channels_listener_insert` AFTER INSERT ON `channels` WHEN new.`listener` IS NOT NULL BEGIN
	INSERT INTO `listeners` (`key`, `changed_at`, `version`)
		VALUES (new.`listener`, unixepoch() * 1000, (SELECT coalesce(max(`version`), 0) + 1 FROM `listeners`))
		ON CONFLICT (`key`) DO UPDATE SET `changed_at` = excluded.`changed_at`, `version` = excluded.`version`;
END;
--> statement-breakpoint
CREATE TRIGGER `channels_listener_update` AFTER UPDATE OF `state` ON `channels`
WHEN new.`listener` IS NOT NULL AND (old.`state` = 'gone') <> (new.`state` = 'gone')
BEGIN
	INSERT INTO `listeners` (`key`, `changed_at`, `version`)
		VALUES (new.`listener`, unixepoch() * 1000, (SELECT coalesce(max(`version`), 0) + 1 FROM `listeners`))
		ON CONFLICT (`key`) DO UPDATE SET `changed_at` = excluded.`changed_at`, `version` = excluded.`version`;
END;
--> statement-breakpoint
CREATE TRIGGER `channels_listener_delete` AFTER DELETE ON `channels` WHEN old.`listener` IS NOT NULL BEGIN
	INSERT INTO `listeners` (`key`, `changed_at`, `version`)
		VALUES (old.`listener`, unixepoch() * 1000, (SELECT coalesce(max(`version`), 0) + 1 FROM `listeners`))
		ON CONFLICT (`key`) DO UPDATE SET `changed_at` = excluded.`changed_at`, `version` = excluded.`version`;
	DELETE FROM `channel_messages` WHERE `channel_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `channel_links_insert` AFTER INSERT ON `channel_links` BEGIN
	INSERT INTO `listeners` (`key`, `changed_at`, `version`)
		VALUES (new.`listener`, unixepoch() * 1000, (SELECT coalesce(max(`version`), 0) + 1 FROM `listeners`))
		ON CONFLICT (`key`) DO UPDATE SET `changed_at` = excluded.`changed_at`, `version` = excluded.`version`;
END;
--> statement-breakpoint
CREATE TRIGGER `channel_links_delete` AFTER DELETE ON `channel_links` BEGIN
	INSERT INTO `listeners` (`key`, `changed_at`, `version`)
		VALUES (old.`listener`, unixepoch() * 1000, (SELECT coalesce(max(`version`), 0) + 1 FROM `listeners`))
		ON CONFLICT (`key`) DO UPDATE SET `changed_at` = excluded.`changed_at`, `version` = excluded.`version`;
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_links_ended` AFTER UPDATE OF `deleted_at` ON `accounts`
WHEN old.`deleted_at` IS NULL AND new.`deleted_at` IS NOT NULL
BEGIN
	DELETE FROM `channel_links` WHERE `account_id` = new.`id`;
END;
