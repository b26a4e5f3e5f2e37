ALTER TABLE `devices` ADD `session_id` text;--> statement-breakpoint
CREATE INDEX `devices_session` ON `devices` (`session_id`) WHERE session_id is not null;--> statement-breakpoint
ALTER TABLE `credentials` ADD `address` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `confirmed_at` integer;--> statement-breakpoint
-- A device goes with the sign-in that registered it, and what is planned for it too. Those of a deleted account are
-- left for final notices, and its sweep.
CREATE TRIGGER `credentials_devices_ended` AFTER DELETE ON `credentials`
WHEN old.`kind` = 'account_token' AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `pushes` WHERE `account_id` = old.`account_id`
		AND `device_id` IN (SELECT `id` FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`);
	DELETE FROM `live_activities` WHERE `account_id` = old.`account_id`
		AND `device_id` IN (SELECT `id` FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`);
	DELETE FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`;
END;
