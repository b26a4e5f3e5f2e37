-- Names and blocks of accounts, invitations, and the administrator's charts.
CREATE TABLE `invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`code_digest` text NOT NULL,
	`name` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`account_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_code` ON `invitations` (`code_digest`);--> statement-breakpoint
CREATE INDEX `invitations_expiry` ON `invitations` (`expires_at`);--> statement-breakpoint
CREATE TABLE `minutes` (
	`minute` integer NOT NULL,
	`process` text NOT NULL,
	`figures` text NOT NULL,
	PRIMARY KEY(`minute`, `process`)
);
--> statement-breakpoint
ALTER TABLE `accounts` ADD `admin_name` text DEFAULT null;--> statement-breakpoint
ALTER TABLE `accounts` ADD `blocked_at` integer DEFAULT null;--> statement-breakpoint
-- A blocked account: no version accepts its credentials, and no lane has its targets, so what is queued waits.
CREATE TRIGGER `accounts_blocked` AFTER UPDATE OF `blocked_at` ON `accounts`
WHEN old.`blocked_at` IS NULL AND new.`blocked_at` IS NOT NULL
BEGIN
	UPDATE `credentials` SET `kind` = 'blocked_' || `kind`
		WHERE `account_id` = new.`id` AND `kind` IN ('account_token', 'key_secret', 'oauth_access');
	DELETE FROM `pairings` WHERE `account_id` = new.`id` AND `claimed_by` IS NULL;
	UPDATE `push_targets` SET `lane` = 'blocked ' || `lane` WHERE `account_id` = new.`id`;
	UPDATE `pushes` SET `environment` = 'blocked ' || `environment` WHERE `account_id` = new.`id` AND `lease` IS NULL AND `token` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_unblocked` AFTER UPDATE OF `blocked_at` ON `accounts`
WHEN old.`blocked_at` IS NOT NULL AND new.`blocked_at` IS NULL
BEGIN
	UPDATE `credentials` SET `kind` = substr(`kind`, 9) WHERE `account_id` = new.`id` AND substr(`kind`, 1, 8) = 'blocked_';
	UPDATE `push_targets` SET `lane` = substr(`lane`, 9) WHERE `account_id` = new.`id` AND substr(`lane`, 1, 8) = 'blocked ';
	UPDATE `pushes` SET `environment` = substr(`environment`, 9) WHERE `account_id` = new.`id` AND substr(`environment`, 1, 8) = 'blocked ';
END;
--> statement-breakpoint
-- Whatever gives a blocked account a credential, of an older version too: it takes effect when the block ends.
CREATE TRIGGER `credentials_blocked` AFTER INSERT ON `credentials`
WHEN new.`kind` IN ('account_token', 'key_secret', 'oauth_access')
	AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = new.`account_id` AND `blocked_at` IS NOT NULL)
BEGIN
	UPDATE `credentials` SET `kind` = 'blocked_' || `kind` WHERE `digest` = new.`digest`;
END;
--> statement-breakpoint
CREATE TRIGGER `push_targets_blocked` AFTER INSERT ON `push_targets`
WHEN substr(new.`lane`, 1, 8) <> 'blocked '
	AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = new.`account_id` AND `blocked_at` IS NOT NULL)
BEGIN
	UPDATE `push_targets` SET `lane` = 'blocked ' || `lane`
		WHERE `account_id` = new.`account_id` AND `purpose` = new.`purpose` AND `recipient_id` = new.`recipient_id` AND `subject` = new.`subject`;
END;
