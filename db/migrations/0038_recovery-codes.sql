CREATE TABLE `recovery_codes` (
	`account_id` text PRIMARY KEY NOT NULL,
	`digest` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_digest` text,
	`session_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `recovery_codes_digest` ON `recovery_codes` (`digest`);--> statement-breakpoint
CREATE UNIQUE INDEX `recovery_codes_used` ON `recovery_codes` (`used_digest`) WHERE used_digest is not null;
--> statement-breakpoint
CREATE TRIGGER `recovery_codes_account_ended` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `recovery_codes` WHERE `account_id` = NEW.`id`;
END;
