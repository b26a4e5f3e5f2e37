ALTER TABLE `accounts` ADD `stored_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `keys` ADD `stored_bytes` integer;--> statement-breakpoint
CREATE INDEX `keys_uncounted` ON `keys` (`id`) WHERE stored_bytes is null;--> statement-breakpoint
ALTER TABLE `channels` ADD `queued_bytes` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
UPDATE `channels` SET `queued_bytes` = (SELECT ifnull(sum(500 + octet_length(`data`)), 0) FROM `webhook_messages` WHERE `channel_id` = `channels`.`id`)
  WHERE `queued` > 0;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_insert`;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_insert` AFTER INSERT ON `webhook_messages` BEGIN
  UPDATE `channels` SET `queued` = `queued` + 1, `queued_bytes` = `queued_bytes` + 500 + octet_length(new.`data`) WHERE `id` = new.`channel_id`;
END;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_delete`;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_delete` AFTER DELETE ON `webhook_messages` BEGIN
  UPDATE `channels` SET `queued` = `queued` - 1, `queued_bytes` = `queued_bytes` - 500 - octet_length(old.`data`) WHERE `id` = old.`channel_id`;
  UPDATE `webhook_messages` SET `head` = 1 WHERE old.`head` = 1 AND `seq` = (
    SELECT min(`seq`) FROM `webhook_messages` WHERE `channel_id` = old.`channel_id` AND `subject` = old.`subject`);
END;
--> statement-breakpoint
DROP TRIGGER `events_webhooks`;
--> statement-breakpoint
CREATE TRIGGER `events_webhooks` AFTER INSERT ON `events`
WHEN (new.`name` GLOB 'task.*' OR new.`name` GLOB 'question.*' OR new.`name` GLOB 'key.*')
  AND EXISTS (SELECT 1 FROM `channels` WHERE `account_id` = new.`account_id` AND `type` = 'webhook' AND `state` <> 'gone')
BEGIN
  UPDATE `channels` SET `missed` = `missed` + 1, `state` = 'failing', `error_code` = 'queue_full', `error_at` = new.`created_at`
    WHERE `account_id` = new.`account_id` AND `type` = 'webhook' AND `state` <> 'gone' AND (`queued` >= 1000 OR `queued_bytes` >= 8388608);
  INSERT INTO `webhook_messages` (`id`, `account_id`, `channel_id`, `subject`, `type`, `data`, `created_at`, `due_at`, `expires_at`, `head`)
    SELECT 'msg_' || lower(hex(randomblob(16))), c.`account_id`, c.`id`, new.`subject`, new.`name`, new.`data`,
      new.`created_at`, new.`created_at`, new.`created_at` + 86400000,
      NOT EXISTS (SELECT 1 FROM `webhook_messages` m WHERE m.`channel_id` = c.`id` AND m.`subject` = new.`subject`)
    FROM `channels` c WHERE c.`account_id` = new.`account_id` AND c.`type` = 'webhook' AND c.`state` <> 'gone'
      AND c.`queued` < 1000 AND c.`queued_bytes` < 8388608;
END;
