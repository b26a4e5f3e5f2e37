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
--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_code` ON `approvals` (`code_digest`);--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_secret` ON `approvals` (`secret_digest`);--> statement-breakpoint
CREATE INDEX `approvals_expiry` ON `approvals` (`expires_at`);--> statement-breakpoint
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
--> statement-breakpoint
CREATE INDEX `grants_key` ON `grants` (`key_id`);--> statement-breakpoint
CREATE INDEX `grants_account` ON `grants` (`account_id`,`client_name`);--> statement-breakpoint
CREATE UNIQUE INDEX `grants_code` ON `grants` (`code_digest`) WHERE code_digest is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `grants_family` ON `grants` (`family_digest`) WHERE family_digest is not null;--> statement-breakpoint
CREATE INDEX `grants_expiry` ON `grants` (`expires_at`);--> statement-breakpoint
ALTER TABLE `credentials` ADD `grant_id` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `replaced_at` integer;--> statement-breakpoint
CREATE INDEX `credentials_grant` ON `credentials` (`grant_id`) WHERE grant_id is not null;
--> statement-breakpoint
CREATE TRIGGER `grants_ended` AFTER DELETE ON `grants` BEGIN
	DELETE FROM `credentials` WHERE `grant_id` = OLD.`id`;
END;
--> statement-breakpoint
-- Whichever version deletes the key, or its account with it.
CREATE TRIGGER `keys_grants_ended` AFTER UPDATE OF `deleted_at` ON `keys` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `grants` WHERE `key_id` = NEW.`id`;
END;
