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
--> statement-breakpoint
CREATE UNIQUE INDEX `pairings_code` ON `pairings` (`code_digest`);--> statement-breakpoint
CREATE UNIQUE INDEX `pairings_link` ON `pairings` (`link_digest`);--> statement-breakpoint
CREATE INDEX `pairings_account` ON `pairings` (`account_id`);--> statement-breakpoint
CREATE INDEX `pairings_expiry` ON `pairings` (`expires_at`);
--> statement-breakpoint
-- An open code ends with the token that made it, and the memory of a claim with the sign-in it made.
CREATE TRIGGER `pairings_sign_in_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	DELETE FROM `pairings` WHERE `account_id` = OLD.`account_id` AND (`claimed_by` = OLD.`id` OR (`session_id` = OLD.`id` AND `claimed_by` IS NULL));
END;
--> statement-breakpoint
CREATE TRIGGER `pairings_token_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`digest` <> NEW.`digest` BEGIN
	DELETE FROM `pairings` WHERE `account_id` = NEW.`account_id` AND `session_id` = NEW.`id` AND `claimed_by` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `pairings_account_ended` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `pairings` WHERE `account_id` = NEW.`id`;
END;
--> statement-breakpoint
-- Version 0.1.0 knows one token of an account: when that one ends, the oldest that is left.
CREATE TRIGGER `accounts_token_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	UPDATE `accounts` SET `token_digest` = (SELECT `digest` FROM `credentials` WHERE `account_id` = OLD.`account_id` AND `kind` = 'account_token' ORDER BY `created_at`, `id` LIMIT 1)
	WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL AND (`token_digest` = OLD.`digest` OR `token_digest` LIKE 'ended %')
		AND EXISTS (SELECT 1 FROM `credentials` WHERE `account_id` = OLD.`account_id` AND `kind` = 'account_token');
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_token_added` AFTER INSERT ON `credentials` WHEN NEW.`kind` = 'account_token' BEGIN
	UPDATE `accounts` SET `token_digest` = NEW.`digest` WHERE `id` = NEW.`account_id` AND `deleted_at` IS NULL AND `token_digest` LIKE 'ended %';
END;
