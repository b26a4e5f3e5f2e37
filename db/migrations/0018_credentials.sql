-- WITHOUT ROWID: a request finds its credential with one search instead of two.
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
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_id` ON `credentials` (`id`);
--> statement-breakpoint
CREATE INDEX `credentials_account` ON `credentials` (`account_id`,`created_at`,`id`);
--> statement-breakpoint
CREATE INDEX `credentials_key` ON `credentials` (`key_id`) WHERE key_id is not null;
--> statement-breakpoint
-- The tokens and secrets of version 0.1.0. An id is its prefix and a UUIDv7, as in src/ids.ts.
INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
SELECT `token_digest`, 'ses_' || printf('%012x', `created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
	'account_token', `id`, NULL, 'account', `created_at`, NULL, NULL, NULL
FROM `accounts` WHERE `deleted_at` IS NULL;
--> statement-breakpoint
INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
SELECT `secret_digest`, 'crd_' || printf('%012x', `created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
	'key_secret', `account_id`, `id`, 'account', `created_at`, `last_used_at`, `last_host`, `last_client`
FROM `keys` WHERE `deleted_at` IS NULL;
--> statement-breakpoint
-- From here on both sides stay equal, whichever version writes to either.
CREATE TRIGGER `accounts_credential_added` AFTER INSERT ON `accounts` WHEN NEW.`deleted_at` IS NULL BEGIN
	INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
	VALUES (NEW.`token_digest`, 'ses_' || printf('%012x', NEW.`created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
		'account_token', NEW.`id`, NULL, 'account', NEW.`created_at`, NULL, NULL, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER `keys_credential_added` AFTER INSERT ON `keys` WHEN NEW.`deleted_at` IS NULL BEGIN
	INSERT INTO `credentials` (`digest`, `id`, `kind`, `account_id`, `key_id`, `made_by`, `created_at`, `last_used_at`, `last_host`, `last_client`)
	VALUES (NEW.`secret_digest`, 'crd_' || printf('%012x', NEW.`created_at`) || '7' || substr(lower(hex(randomblob(2))), 2) || 'a' || substr(lower(hex(randomblob(8))), 2),
		'key_secret', NEW.`account_id`, NEW.`id`, 'account', NEW.`created_at`, NEW.`last_used_at`, NEW.`last_host`, NEW.`last_client`);
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_credential_replaced` AFTER UPDATE OF `token_digest` ON `accounts` WHEN OLD.`token_digest` <> NEW.`token_digest` BEGIN
	UPDATE `credentials` SET `digest` = NEW.`token_digest` WHERE `digest` = OLD.`token_digest`;
END;
--> statement-breakpoint
CREATE TRIGGER `keys_credential_replaced` AFTER UPDATE OF `secret_digest` ON `keys` WHEN OLD.`secret_digest` <> NEW.`secret_digest` BEGIN
	UPDATE `credentials` SET `digest` = NEW.`secret_digest` WHERE `digest` = OLD.`secret_digest`;
END;
--> statement-breakpoint
CREATE TRIGGER `credentials_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`digest` <> NEW.`digest` BEGIN
	UPDATE `accounts` SET `token_digest` = NEW.`digest` WHERE `id` = NEW.`account_id` AND `token_digest` = OLD.`digest`;
	UPDATE `keys` SET `secret_digest` = NEW.`digest` WHERE `id` = NEW.`key_id` AND `secret_digest` = OLD.`digest`;
END;
--> statement-breakpoint
-- No secret has this digest. What is deleted keeps its own.
CREATE TRIGGER `credentials_ended` AFTER DELETE ON `credentials` BEGIN
	UPDATE `accounts` SET `token_digest` = 'ended ' || hex(randomblob(16)) WHERE `id` = OLD.`account_id` AND `token_digest` = OLD.`digest` AND `deleted_at` IS NULL;
	UPDATE `keys` SET `secret_digest` = 'ended ' || hex(randomblob(16)) WHERE `id` = OLD.`key_id` AND `secret_digest` = OLD.`digest` AND `deleted_at` IS NULL;
END;
--> statement-breakpoint
-- A tombstone ends what it owns at once. The sweep of a key or account has none of these rows to remove.
CREATE TRIGGER `accounts_credentials_ended` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `credentials` WHERE `account_id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `keys_credentials_ended` AFTER UPDATE OF `deleted_at` ON `keys` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	DELETE FROM `credentials` WHERE `key_id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `keys_credentials_used` AFTER UPDATE OF `last_host`, `last_client` ON `keys` BEGIN
	UPDATE `credentials` SET `last_host` = NEW.`last_host`, `last_client` = NEW.`last_client` WHERE `key_id` = NEW.`id`;
END;
