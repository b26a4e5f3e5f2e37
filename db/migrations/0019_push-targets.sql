CREATE TABLE `push_targets` (
	`account_id` text NOT NULL,
	`purpose` text NOT NULL,
	`recipient_id` text NOT NULL,
	`subject` text NOT NULL,
	`lane` text NOT NULL,
	`address` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `purpose`, `recipient_id`, `subject`)
);
--> statement-breakpoint
-- Those that version 0.1.0 knows as tokens.
INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
	SELECT `account_id`, 'alert', `id`, '', `apns_environment`, `apns_token`, `updated_at` FROM `devices` WHERE `apns_token` IS NOT NULL
	UNION ALL SELECT `account_id`, 'widget', `id`, '', `apns_environment`, `widget_push_token`, `updated_at` FROM `devices` WHERE `widget_push_token` IS NOT NULL
	UNION ALL SELECT `account_id`, 'activity_start', `id`, '', `apns_environment`, `push_to_start_token`, `updated_at` FROM `devices` WHERE `push_to_start_token` IS NOT NULL
	UNION ALL SELECT l.`account_id`, 'activity', l.`device_id`, l.`task_id`, v.`apns_environment`, l.`push_token`, l.`updated_at`
		FROM `live_activities` l JOIN `devices` v ON v.`account_id` = l.`account_id` AND v.`id` = l.`device_id` WHERE l.`ended_at` IS NULL;
--> statement-breakpoint
-- From here on both sides stay equal, whichever version writes to either.
CREATE TRIGGER `devices_targets_insert` AFTER INSERT ON `devices` BEGIN
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT new.`account_id`, `purpose`, new.`id`, '', new.`apns_environment`, `token`, new.`updated_at`
		FROM (SELECT 'alert' AS `purpose`, new.`apns_token` AS `token`
			UNION ALL SELECT 'widget', new.`widget_push_token`
			UNION ALL SELECT 'activity_start', new.`push_to_start_token`)
		WHERE `token` IS NOT NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `devices_targets_update` AFTER UPDATE OF `apns_environment`, `apns_token`, `push_to_start_token`, `widget_push_token`, `updated_at` ON `devices` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = new.`account_id` AND `recipient_id` = new.`id` AND `subject` = ''
		AND CASE `purpose` WHEN 'alert' THEN new.`apns_token` WHEN 'widget' THEN new.`widget_push_token` WHEN 'activity_start' THEN new.`push_to_start_token` END IS NULL;
	UPDATE `push_targets` SET `lane` = new.`apns_environment` WHERE `account_id` = new.`account_id` AND `purpose` = 'activity' AND `recipient_id` = new.`id`;
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT new.`account_id`, `purpose`, new.`id`, '', new.`apns_environment`, `token`, new.`updated_at`
		FROM (SELECT 'alert' AS `purpose`, new.`apns_token` AS `token`
			UNION ALL SELECT 'widget', new.`widget_push_token`
			UNION ALL SELECT 'activity_start', new.`push_to_start_token`)
		WHERE `token` IS NOT NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `devices_targets_delete` AFTER DELETE ON `devices` BEGIN
	DELETE FROM `push_targets` WHERE `account_id` = old.`account_id` AND `recipient_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_insert` AFTER INSERT ON `live_activities` WHEN new.`ended_at` IS NULL BEGIN
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
		FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id`
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_update` AFTER UPDATE OF `push_token`, `updated_at`, `ended_at` ON `live_activities` BEGIN
	DELETE FROM `push_targets` WHERE new.`ended_at` IS NOT NULL
		AND `account_id` = new.`account_id` AND `purpose` = 'activity' AND `recipient_id` = new.`device_id` AND `subject` = new.`task_id`;
	INSERT INTO `push_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
		SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
		FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id` AND new.`ended_at` IS NULL
		ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_delete` AFTER DELETE ON `live_activities` BEGIN
	DELETE FROM `push_targets`
		WHERE `account_id` = old.`account_id` AND `purpose` = 'activity' AND `recipient_id` = old.`device_id` AND `subject` = old.`task_id`;
END;
--> statement-breakpoint
-- A target that is removed takes back the token that it came from. An activity that has ended keeps its
-- row until its end is sent.
CREATE TRIGGER `push_targets_delete` AFTER DELETE ON `push_targets` BEGIN
	UPDATE `devices` SET `apns_token` = NULL
		WHERE old.`purpose` = 'alert' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `apns_token` = old.`address`;
	UPDATE `devices` SET `widget_push_token` = NULL
		WHERE old.`purpose` = 'widget' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `widget_push_token` = old.`address`;
	UPDATE `devices` SET `push_to_start_token` = NULL
		WHERE old.`purpose` = 'activity_start' AND `account_id` = old.`account_id` AND `id` = old.`recipient_id` AND `push_to_start_token` = old.`address`;
	DELETE FROM `live_activities` WHERE old.`purpose` = 'activity' AND `account_id` = old.`account_id` AND `device_id` = old.`recipient_id`
		AND `task_id` = old.`subject` AND `push_token` = old.`address` AND `ended_at` IS NULL;
END;
