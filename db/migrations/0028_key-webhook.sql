-- The webhook of a key is a row of `channels` of a type of its own, and what it is to be sent are rows of
-- `webhook_messages` with the position of the item.
ALTER TABLE `channels` ADD `key_id` text;--> statement-breakpoint
ALTER TABLE `channels` ADD `set_by` text;--> statement-breakpoint
ALTER TABLE `channels` ADD `due_at` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `channels_key` ON `channels` (`key_id`) WHERE key_id is not null;--> statement-breakpoint
CREATE INDEX `channels_due` ON `channels` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
ALTER TABLE `webhook_messages` ADD `item_seq` integer;--> statement-breakpoint
CREATE INDEX `webhook_messages_item` ON `webhook_messages` (`item_seq`) WHERE item_seq is not null;--> statement-breakpoint
ALTER TABLE `keys` ADD `webhook_sets` text DEFAULT '[]' NOT NULL;
--> statement-breakpoint
-- Each new item of a key with a webhook becomes a message, in the batch of its change and whichever version
-- writes it. One that finds a full queue is counted, and stays unread.
CREATE TRIGGER `items_webhook_insert` AFTER INSERT ON `items`
WHEN EXISTS (SELECT 1 FROM `channels` WHERE `key_id` = new.`key_id` AND `state` <> 'gone')
BEGIN
	UPDATE `channels` SET `missed` = `missed` + 1, `state` = 'failing', `error_code` = 'queue_full', `error_at` = new.`created_at`
		WHERE `key_id` = new.`key_id` AND `queued` >= 1000;
	INSERT INTO `webhook_messages` (`id`, `account_id`, `channel_id`, `subject`, `type`, `data`, `created_at`, `due_at`, `expires_at`, `head`, `item_seq`)
		SELECT new.`id`, c.`account_id`, c.`id`, new.`key_id`, new.`type`, '{}',
			new.`created_at`, new.`created_at`, new.`created_at` + 86400000,
			NOT EXISTS (SELECT 1 FROM `webhook_messages` m WHERE m.`channel_id` = c.`id` AND m.`subject` = new.`key_id`), new.`seq`
		FROM `channels` c WHERE c.`key_id` = new.`key_id` AND c.`queued` < 1000;
END;
--> statement-breakpoint
-- An item that was read, or is gone, is not posted. Of one that is under way, the worker sees it afterwards.
CREATE TRIGGER `items_webhook_read` AFTER UPDATE OF `read_at` ON `items` WHEN old.`read_at` IS NULL AND new.`read_at` IS NOT NULL BEGIN
	DELETE FROM `webhook_messages` WHERE `item_seq` = new.`seq` AND `lease` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `items_webhook_delete` AFTER DELETE ON `items` WHEN old.`read_at` IS NULL BEGIN
	DELETE FROM `webhook_messages` WHERE `item_seq` = old.`seq` AND `lease` IS NULL;
END;
--> statement-breakpoint
-- The webhook goes with its key, whichever version removes that, and with the grant that set it.
CREATE TRIGGER `keys_webhook_ended` AFTER DELETE ON `keys` BEGIN
	DELETE FROM `channels` WHERE `key_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `grants_webhook_ended` AFTER DELETE ON `grants`
WHEN EXISTS (SELECT 1 FROM `keys` WHERE `id` = old.`key_id` AND `deleted_at` IS NULL)
BEGIN
	DELETE FROM `channels` WHERE `key_id` = old.`key_id` AND `set_by` = old.`id`;
END;
--> statement-breakpoint
-- `due_at` of a channel: of the heads that nobody sends, the earliest that may be sent, and not before the end
-- of `held_until`. Before a test has succeeded, only tests may.
CREATE TRIGGER `webhook_messages_due_insert` AFTER INSERT ON `webhook_messages` WHEN new.`head` = 1 AND new.`lease` IS NULL BEGIN
	UPDATE `channels` SET `due_at` = max(min(coalesce(`due_at`, new.`due_at`), new.`due_at`), coalesce(`held_until`, 0))
		WHERE `id` = new.`channel_id` AND (`confirmed_at` IS NOT NULL OR new.`type` IN ('channel.test', 'webhook.test'));
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_due_update` AFTER UPDATE OF `due_at`, `head`, `lease` ON `webhook_messages` BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = new.`channel_id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = new.`channel_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_due_delete` AFTER DELETE ON `webhook_messages` WHEN old.`head` = 1 BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = old.`channel_id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = old.`channel_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `channels_due_update` AFTER UPDATE OF `held_until`, `confirmed_at` ON `channels`
WHEN old.`held_until` IS NOT new.`held_until` OR old.`confirmed_at` IS NOT new.`confirmed_at`
BEGIN
	UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(new.`held_until`, 0)) FROM `webhook_messages` m
			WHERE m.`channel_id` = new.`id` AND m.`head` = 1 AND m.`lease` IS NULL
				AND (new.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
		WHERE `id` = new.`id`;
END;
--> statement-breakpoint
UPDATE `channels` SET `due_at` = (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
		WHERE m.`channel_id` = `channels`.`id` AND m.`head` = 1 AND m.`lease` IS NULL
			AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
	WHERE `queued` > 0;
