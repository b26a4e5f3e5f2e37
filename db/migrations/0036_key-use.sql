-- A clock that was set back makes the time of the next request earlier than that of the last one. It ends a silence too.
DROP TRIGGER `keys_silence`;
--> statement-breakpoint
CREATE TRIGGER `keys_silence` AFTER UPDATE OF `last_used_at` ON `keys`
WHEN new.`last_used_at` IS NOT old.`last_used_at`
BEGIN
	UPDATE `tasks` SET `silent_due_at` = new.`last_used_at`
		WHERE `id` IN (SELECT `id` FROM `tasks` WHERE `key_id` = new.`id` AND `silent_since` IS NOT NULL LIMIT 100);
END;
