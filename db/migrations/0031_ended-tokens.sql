CREATE TABLE `ended_tokens` (
	`digest` text PRIMARY KEY NOT NULL,
	`owner` text,
	`ended_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ended_tokens_owner` ON `ended_tokens` (`owner`,`ended_at`) WHERE owner is not null;--> statement-breakpoint
CREATE INDEX `ended_tokens_age` ON `ended_tokens` (`ended_at`);
--> statement-breakpoint
-- Whichever version ends a sign-in. The tombstone of an account comes before the end of its tokens, and
-- what is kept of them names it no more.
CREATE TRIGGER `ended_tokens_ended` AFTER DELETE ON `credentials` WHEN OLD.`kind` = 'account_token' BEGIN
	INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
	VALUES (OLD.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
	ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
	DELETE FROM `ended_tokens` WHERE `digest` IN (
		SELECT `digest` FROM `ended_tokens` WHERE `owner` = OLD.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
END;
--> statement-breakpoint
CREATE TRIGGER `ended_tokens_replaced` AFTER UPDATE OF `digest` ON `credentials` WHEN OLD.`kind` = 'account_token' AND OLD.`digest` <> NEW.`digest` BEGIN
	INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
	VALUES (OLD.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = OLD.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
	ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
	DELETE FROM `ended_tokens` WHERE `digest` IN (
		SELECT `digest` FROM `ended_tokens` WHERE `owner` = OLD.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
END;
--> statement-breakpoint
CREATE TRIGGER `ended_tokens_disowned` AFTER UPDATE OF `deleted_at` ON `accounts` WHEN NEW.`deleted_at` IS NOT NULL BEGIN
	UPDATE `ended_tokens` SET `owner` = NULL WHERE `owner` = NEW.`id`;
END;
