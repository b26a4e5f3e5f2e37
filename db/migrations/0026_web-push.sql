CREATE INDEX `channels_session` ON `channels` (`session_id`) WHERE session_id is not null;
--> statement-breakpoint
-- A channel takes its target along and what waits for it, but for notifications that have a copy of the address.
CREATE TRIGGER `channels_deleted` AFTER DELETE ON `channels` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = old.`account_id` AND `purpose` = 'alert' AND `recipient_id` = old.`id`;
	DELETE FROM `pushes` WHERE `account_id` = old.`account_id` AND `device_id` = old.`id` AND `token` IS NULL;
	DELETE FROM `webhook_messages` WHERE `channel_id` = old.`id`;
END;
--> statement-breakpoint
-- It goes with its sign-in. The channels of a deleted account are left for final notices, and its sweep.
CREATE TRIGGER `credentials_channels_ended` AFTER DELETE ON `credentials`
WHEN old.`kind` = 'account_token' AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `channels` WHERE `session_id` = old.`id`;
END;
--> statement-breakpoint
-- And with the token: whoever had the old one is told nothing more.
CREATE TRIGGER `credentials_channels_replaced` AFTER UPDATE OF `digest` ON `credentials`
WHEN old.`kind` = 'account_token' AND old.`digest` <> new.`digest`
BEGIN
	DELETE FROM `channels` WHERE `session_id` = old.`id`;
END;
