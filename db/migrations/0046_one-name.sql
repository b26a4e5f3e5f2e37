-- One name for a thing: the tables and columns get the names that the code uses, each address and digest has one place,
-- and triggers of one event on one table become one. Versions before 0.3.0 cannot work on the result.
DROP TRIGGER `accounts_blocked`;
--> statement-breakpoint
DROP TRIGGER `accounts_credential_added`;
--> statement-breakpoint
DROP TRIGGER `accounts_credential_replaced`;
--> statement-breakpoint
DROP TRIGGER `accounts_credentials_ended`;
--> statement-breakpoint
DROP TRIGGER `accounts_links_ended`;
--> statement-breakpoint
DROP TRIGGER `accounts_unblocked`;
--> statement-breakpoint
DROP TRIGGER `ended_tokens_disowned`;
--> statement-breakpoint
DROP TRIGGER `pairings_account_ended`;
--> statement-breakpoint
DROP TRIGGER `recovery_codes_account_ended`;
--> statement-breakpoint
DROP TRIGGER `channels_deleted`;
--> statement-breakpoint
DROP TRIGGER `accounts_token_added`;
--> statement-breakpoint
DROP TRIGGER `accounts_token_ended`;
--> statement-breakpoint
DROP TRIGGER `credentials_channels_ended`;
--> statement-breakpoint
DROP TRIGGER `credentials_channels_replaced`;
--> statement-breakpoint
DROP TRIGGER `credentials_devices_ended`;
--> statement-breakpoint
DROP TRIGGER `credentials_ended`;
--> statement-breakpoint
DROP TRIGGER `credentials_replaced`;
--> statement-breakpoint
DROP TRIGGER `ended_tokens_ended`;
--> statement-breakpoint
DROP TRIGGER `ended_tokens_replaced`;
--> statement-breakpoint
DROP TRIGGER `pairings_sign_in_ended`;
--> statement-breakpoint
DROP TRIGGER `pairings_token_replaced`;
--> statement-breakpoint
DROP TRIGGER `devices_targets_delete`;
--> statement-breakpoint
DROP TRIGGER `devices_targets_insert`;
--> statement-breakpoint
DROP TRIGGER `devices_targets_update`;
--> statement-breakpoint
DROP TRIGGER `grants_ended`;
--> statement-breakpoint
DROP TRIGGER `grants_webhook_ended`;
--> statement-breakpoint
DROP TRIGGER `items_read`;
--> statement-breakpoint
DROP TRIGGER `items_received_read`;
--> statement-breakpoint
DROP TRIGGER `items_received_uncounted`;
--> statement-breakpoint
DROP TRIGGER `items_uncounted`;
--> statement-breakpoint
DROP TRIGGER `items_webhook_delete`;
--> statement-breakpoint
DROP TRIGGER `items_webhook_read`;
--> statement-breakpoint
DROP TRIGGER `keys_credential_added`;
--> statement-breakpoint
DROP TRIGGER `keys_credential_replaced`;
--> statement-breakpoint
DROP TRIGGER `keys_credentials_ended`;
--> statement-breakpoint
DROP TRIGGER `keys_credentials_used`;
--> statement-breakpoint
DROP TRIGGER `keys_grants_ended`;
--> statement-breakpoint
DROP TRIGGER `live_activities_targets_delete`;
--> statement-breakpoint
DROP TRIGGER `live_activities_targets_insert`;
--> statement-breakpoint
DROP TRIGGER `live_activities_targets_update`;
--> statement-breakpoint
DROP TRIGGER `push_records_question`;
--> statement-breakpoint
DROP TRIGGER `push_targets_blocked`;
--> statement-breakpoint
DROP TRIGGER `push_targets_delete`;
--> statement-breakpoint
DROP TRIGGER `pushes_question_delete`;
--> statement-breakpoint
DROP TRIGGER `pushes_question_insert`;
--> statement-breakpoint
DROP TRIGGER `tasks_silence`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_delete`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_due_delete`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_due_insert`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_insert`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_question_delete`;
--> statement-breakpoint
DROP TRIGGER `webhook_messages_question_insert`;
--> statement-breakpoint
DROP INDEX `accounts_token`;
--> statement-breakpoint
DROP INDEX `keys_secret`;
--> statement-breakpoint
DROP INDEX `devices_apns`;
--> statement-breakpoint
DROP INDEX `pushes_subject`;
--> statement-breakpoint
DROP INDEX `pushes_due`;
--> statement-breakpoint
DROP INDEX `pushes_waiting`;
--> statement-breakpoint
DROP INDEX `pushes_expiry`;
--> statement-breakpoint
DROP INDEX `pushes_leased`;
--> statement-breakpoint
DROP INDEX `pushes_token`;
--> statement-breakpoint
DROP INDEX `push_records_pace`;
--> statement-breakpoint
DROP INDEX `push_records_key`;
--> statement-breakpoint
DROP INDEX `push_records_old`;
--> statement-breakpoint
DROP INDEX `activity_blocks_key`;
--> statement-breakpoint
ALTER TABLE `accounts` DROP COLUMN `token_digest`;
--> statement-breakpoint
ALTER TABLE `keys` DROP COLUMN `secret_digest`;
--> statement-breakpoint
ALTER TABLE `devices` DROP COLUMN `apns_token`;
--> statement-breakpoint
ALTER TABLE `devices` DROP COLUMN `push_to_start_token`;
--> statement-breakpoint
ALTER TABLE `devices` DROP COLUMN `widget_push_token`;
--> statement-breakpoint
ALTER TABLE `pushes` RENAME TO `deliveries`;
--> statement-breakpoint
ALTER TABLE `push_records` RENAME TO `delivery_records`;
--> statement-breakpoint
ALTER TABLE `push_targets` RENAME TO `delivery_targets`;
--> statement-breakpoint
ALTER TABLE `activity_blocks` RENAME TO `request_log`;
--> statement-breakpoint
ALTER TABLE `accounts` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `keys` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `tasks` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `questions` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `items` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `channels` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `grants` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `approvals` RENAME COLUMN `change_id` TO `revision`;
--> statement-breakpoint
ALTER TABLE `questions` RENAME COLUMN `has_context` TO `context_omitted`;
--> statement-breakpoint
ALTER TABLE `questions` RENAME COLUMN `action_turn` TO `asked_in`;
--> statement-breakpoint
ALTER TABLE `questions` RENAME COLUMN `answered_by` TO `answering_channel`;
--> statement-breakpoint
ALTER TABLE `questions` RENAME COLUMN `answered_from` TO `answering_session`;
--> statement-breakpoint
ALTER TABLE `live_activities` RENAME COLUMN `stamp` TO `push_timestamp`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `apns_id` TO `delivery_id`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `device_id` TO `recipient_id`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `environment` TO `lane`;
--> statement-breakpoint
ALTER TABLE `delivery_records` RENAME COLUMN `apns_id` TO `delivery_id`;
--> statement-breakpoint
ALTER TABLE `delivery_records` RENAME COLUMN `device_id` TO `recipient_id`;
--> statement-breakpoint
ALTER TABLE `delivery_records` RENAME COLUMN `environment` TO `lane`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `token` TO `address`;
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_subject` ON `deliveries` (`account_id`,`recipient_id`,`kind`,`subject`);
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`lane`,`urgency`,`due_at`);
--> statement-breakpoint
CREATE INDEX `deliveries_waiting` ON `deliveries` (`lane`,`account_id`,`urgency`,`due_at`) WHERE lease is null;
--> statement-breakpoint
CREATE INDEX `deliveries_expiry` ON `deliveries` (`expires_at`);
--> statement-breakpoint
CREATE INDEX `deliveries_leased` ON `deliveries` (`lane`,`lease`) WHERE lease is not null;
--> statement-breakpoint
CREATE INDEX `deliveries_address` ON `deliveries` (`address`) WHERE address is not null;
--> statement-breakpoint
CREATE INDEX `delivery_records_pace` ON `delivery_records` (`account_id`,`recipient_id`,`kind`,`about`,`tried_at`);
--> statement-breakpoint
CREATE INDEX `delivery_records_key` ON `delivery_records` (`key_id`) WHERE key_id is not null;
--> statement-breakpoint
CREATE INDEX `delivery_records_old` ON `delivery_records` (`done_at`);
--> statement-breakpoint
CREATE UNIQUE INDEX `request_log_key` ON `request_log` (`key_id`,`at`,`id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `delivery_targets_device` ON `delivery_targets` (`address`) WHERE purpose = 'alert' and label is null;
--> statement-breakpoint
CREATE TRIGGER `accounts_blocked` AFTER UPDATE OF `blocked_at` ON `accounts`
WHEN old.`blocked_at` IS NULL AND new.`blocked_at` IS NOT NULL
BEGIN
  UPDATE `credentials` SET `kind` = 'blocked_' || `kind`
    WHERE `account_id` = new.`id` AND `kind` IN ('account_token', 'key_secret', 'oauth_access');
  DELETE FROM `pairings` WHERE `account_id` = new.`id` AND `claimed_by` IS NULL;
  UPDATE `delivery_targets` SET `lane` = 'blocked ' || `lane` WHERE `account_id` = new.`id`;
  UPDATE `deliveries` SET `lane` = 'blocked ' || `lane` WHERE `account_id` = new.`id` AND `lease` IS NULL AND `address` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_unblocked` AFTER UPDATE OF `blocked_at` ON `accounts`
WHEN old.`blocked_at` IS NOT NULL AND new.`blocked_at` IS NULL
BEGIN
  UPDATE `credentials` SET `kind` = substr(`kind`, 9) WHERE `account_id` = new.`id` AND substr(`kind`, 1, 8) = 'blocked_';
  UPDATE `delivery_targets` SET `lane` = substr(`lane`, 9) WHERE `account_id` = new.`id` AND substr(`lane`, 1, 8) = 'blocked ';
  UPDATE `deliveries` SET `lane` = substr(`lane`, 9) WHERE `account_id` = new.`id` AND substr(`lane`, 1, 8) = 'blocked ';
END;
--> statement-breakpoint
CREATE TRIGGER `accounts_deleted` AFTER UPDATE OF `deleted_at` ON `accounts`
WHEN old.`deleted_at` IS NULL AND new.`deleted_at` IS NOT NULL
BEGIN
  DELETE FROM `credentials` WHERE `account_id` = new.`id`;
  UPDATE `ended_tokens` SET `owner` = NULL WHERE `owner` = new.`id`;
  DELETE FROM `pairings` WHERE `account_id` = new.`id`;
  DELETE FROM `recovery_codes` WHERE `account_id` = new.`id`;
  DELETE FROM `channel_links` WHERE `account_id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `channels_deleted` AFTER DELETE ON `channels` BEGIN
  DELETE FROM `delivery_targets` WHERE `account_id` = old.`account_id` AND `purpose` = 'alert' AND `recipient_id` = old.`id`;
  DELETE FROM `deliveries` WHERE `account_id` = old.`account_id` AND `recipient_id` = old.`id` AND `address` IS NULL;
  DELETE FROM `webhook_messages` WHERE `channel_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `credentials_deleted` AFTER DELETE ON `credentials` WHEN old.`kind` = 'account_token' BEGIN
  INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
    VALUES (old.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
    ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
  DELETE FROM `ended_tokens` WHERE `digest` IN (
    SELECT `digest` FROM `ended_tokens` WHERE `owner` = old.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
  DELETE FROM `pairings` WHERE `account_id` = old.`account_id`
    AND (`claimed_by` = old.`id` OR (`session_id` = old.`id` AND `claimed_by` IS NULL));
  DELETE FROM `channels` WHERE `session_id` = old.`id`
    AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL);
  DELETE FROM `devices` WHERE `session_id` = old.`id` AND `account_id` = old.`account_id`
    AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL);
END;
--> statement-breakpoint
CREATE TRIGGER `devices_deleted` AFTER DELETE ON `devices`
WHEN EXISTS (SELECT 1 FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL)
BEGIN
  DELETE FROM `live_activities` WHERE `account_id` = old.`account_id` AND `device_id` = old.`id`;
  DELETE FROM `delivery_targets` WHERE `account_id` = old.`account_id` AND `recipient_id` = old.`id`;
  DELETE FROM `deliveries` WHERE `account_id` = old.`account_id` AND `recipient_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `credentials_replaced` AFTER UPDATE OF `digest` ON `credentials`
WHEN old.`kind` = 'account_token' AND old.`digest` <> new.`digest`
BEGIN
  INSERT INTO `ended_tokens` (`digest`, `owner`, `ended_at`)
    VALUES (old.`digest`, (SELECT `id` FROM `accounts` WHERE `id` = old.`account_id` AND `deleted_at` IS NULL), unixepoch() * 1000)
    ON CONFLICT (`digest`) DO UPDATE SET `owner` = excluded.`owner`, `ended_at` = excluded.`ended_at`;
  DELETE FROM `ended_tokens` WHERE `digest` IN (
    SELECT `digest` FROM `ended_tokens` WHERE `owner` = old.`account_id` ORDER BY `ended_at` DESC LIMIT 100 OFFSET 100);
  DELETE FROM `pairings` WHERE `account_id` = old.`account_id` AND `session_id` = old.`id` AND `claimed_by` IS NULL;
  DELETE FROM `channels` WHERE `session_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `grants_deleted` AFTER DELETE ON `grants` BEGIN
  DELETE FROM `credentials` WHERE `grant_id` = old.`id`;
  DELETE FROM `channels` WHERE `key_id` = old.`key_id` AND `set_by` = old.`id`
    AND EXISTS (SELECT 1 FROM `keys` WHERE `id` = old.`key_id` AND `deleted_at` IS NULL);
END;
--> statement-breakpoint
CREATE TRIGGER `items_read` AFTER UPDATE OF `read_at` ON `items` WHEN old.`read_at` IS NULL AND new.`read_at` IS NOT NULL BEGIN
  UPDATE `keys` SET `unread` = `unread` - 1, `received` = `received` - (old.`received_at` IS NOT NULL) WHERE `id` = new.`key_id`;
  DELETE FROM `webhook_messages` WHERE `item_seq` = new.`seq` AND `lease` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `items_uncounted` AFTER DELETE ON `items` WHEN old.`read_at` IS NULL BEGIN
  UPDATE `keys` SET `unread` = `unread` - 1, `received` = `received` - (old.`received_at` IS NOT NULL) WHERE `id` = old.`key_id`;
  DELETE FROM `webhook_messages` WHERE `item_seq` = old.`seq` AND `lease` IS NULL;
END;
--> statement-breakpoint
CREATE TRIGGER `keys_deleted` AFTER UPDATE OF `deleted_at` ON `keys` WHEN new.`deleted_at` IS NOT NULL BEGIN
  DELETE FROM `credentials` WHERE `key_id` = new.`id`;
  DELETE FROM `grants` WHERE `key_id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_delete` AFTER DELETE ON `live_activities` BEGIN
  DELETE FROM `delivery_targets`
    WHERE `account_id` = old.`account_id` AND `purpose` = 'activity' AND `recipient_id` = old.`device_id` AND `subject` = old.`task_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_insert` AFTER INSERT ON `live_activities` WHEN new.`ended_at` IS NULL BEGIN
  INSERT INTO `delivery_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
    SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
    FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id`
    ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `live_activities_targets_update` AFTER UPDATE OF `push_token`, `updated_at`, `ended_at` ON `live_activities` BEGIN
  DELETE FROM `delivery_targets` WHERE new.`ended_at` IS NOT NULL
    AND `account_id` = new.`account_id` AND `purpose` = 'activity' AND `recipient_id` = new.`device_id` AND `subject` = new.`task_id`;
  INSERT INTO `delivery_targets` (`account_id`, `purpose`, `recipient_id`, `subject`, `lane`, `address`, `updated_at`)
    SELECT v.`account_id`, 'activity', v.`id`, new.`task_id`, v.`apns_environment`, new.`push_token`, new.`updated_at`
    FROM `devices` v WHERE v.`account_id` = new.`account_id` AND v.`id` = new.`device_id` AND new.`ended_at` IS NULL
    ON CONFLICT DO UPDATE SET `lane` = excluded.`lane`, `address` = excluded.`address`, `updated_at` = excluded.`updated_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `delivery_records_question` AFTER INSERT ON `delivery_records` WHEN new.`kind` = 'question' BEGIN
  INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `reason`, `queued_at`, `sent_at`)
    SELECT `id`, new.`recipient_id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), new.`lane`, coalesce(
      (SELECT `label` FROM `delivery_targets` WHERE `account_id` = new.`account_id` AND `purpose` = 'alert' AND `recipient_id` = new.`recipient_id` AND `subject` = ''),
      (SELECT CASE `platform` WHEN 'ios' THEN 'iPhone' WHEN 'ipados' THEN 'iPad' WHEN 'watchos' THEN 'Apple Watch' END
        FROM `devices` WHERE `account_id` = new.`account_id` AND `id` = new.`recipient_id`),
      'Unnamed'),
      CASE WHEN new.`outcome` = 'sent' THEN 'sent' WHEN new.`outcome` = 'pointless' AND new.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END,
      coalesce(new.`reason`, CASE new.`outcome` WHEN 'sent' THEN NULL WHEN 'pointless' THEN 'question_ended' ELSE new.`outcome` END),
      new.`created_at`, CASE new.`outcome` WHEN 'sent' THEN new.`done_at` END
    FROM `questions` WHERE `id` = new.`about`
    ON CONFLICT DO UPDATE SET `status` = excluded.`status`, `reason` = excluded.`reason`, `sent_at` = excluded.`sent_at`
      WHERE `question_deliveries`.`status` <> 'sent';
END;
--> statement-breakpoint
CREATE TRIGGER `deliveries_question_insert` AFTER INSERT ON `deliveries` WHEN new.`kind` = 'question' BEGIN
  INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `queued_at`)
    SELECT new.`question_id`, new.`recipient_id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), new.`lane`, coalesce(
      (SELECT `label` FROM `delivery_targets` WHERE `account_id` = new.`account_id` AND `purpose` = 'alert' AND `recipient_id` = new.`recipient_id` AND `subject` = ''),
      (SELECT CASE `platform` WHEN 'ios' THEN 'iPhone' WHEN 'ipados' THEN 'iPad' WHEN 'watchos' THEN 'Apple Watch' END
        FROM `devices` WHERE `account_id` = new.`account_id` AND `id` = new.`recipient_id`),
      'Unnamed'), 'queued', new.`created_at`
    WHERE new.`question_id` IS NOT NULL
    ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `deliveries_question_delete` AFTER DELETE ON `deliveries` WHEN old.`kind` = 'question' BEGIN
  UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END, `reason` = 'target_removed'
    WHERE `question_id` = old.`question_id` AND `target_id` = old.`recipient_id` AND `status` = 'queued';
END;
--> statement-breakpoint
CREATE TRIGGER `delivery_targets_blocked` AFTER INSERT ON `delivery_targets`
WHEN substr(new.`lane`, 1, 8) <> 'blocked '
  AND EXISTS (SELECT 1 FROM `accounts` WHERE `id` = new.`account_id` AND `blocked_at` IS NOT NULL)
BEGIN
  UPDATE `delivery_targets` SET `lane` = 'blocked ' || `lane`
    WHERE `account_id` = new.`account_id` AND `purpose` = new.`purpose` AND `recipient_id` = new.`recipient_id` AND `subject` = new.`subject`;
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_insert` AFTER INSERT ON `webhook_messages` BEGIN
  UPDATE `channels` SET `queued` = `queued` + 1, `queued_bytes` = `queued_bytes` + 500 + octet_length(new.`data`), `due_at` = CASE
      WHEN new.`head` = 1 AND new.`lease` IS NULL AND (`confirmed_at` IS NOT NULL OR new.`type` IN ('channel.test', 'webhook.test'))
      THEN max(min(coalesce(`due_at`, new.`due_at`), new.`due_at`), coalesce(`held_until`, 0)) ELSE `due_at` END
    WHERE `id` = new.`channel_id`;
  INSERT INTO `question_deliveries` (`question_id`, `target_id`, `id`, `lane`, `label`, `status`, `queued_at`)
    SELECT q.`id`, c.`id`, 'dlv_' || printf('%012x7', new.`created_at`) || substr(lower(hex(randomblob(10))), 2), c.`type`, c.`label`, 'queued', new.`created_at`
    FROM `questions` q, `channels` c WHERE new.`type` = 'question.created' AND q.`id` = new.`subject` AND c.`id` = new.`channel_id`
    ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `webhook_messages_delete` AFTER DELETE ON `webhook_messages` BEGIN
  UPDATE `webhook_messages` SET `head` = 1 WHERE old.`head` = 1 AND `seq` = (
    SELECT min(`seq`) FROM `webhook_messages` WHERE `channel_id` = old.`channel_id` AND `subject` = old.`subject`);
  UPDATE `channels` SET `queued` = `queued` - 1, `queued_bytes` = `queued_bytes` - 500 - octet_length(old.`data`), `due_at` = CASE WHEN old.`head` = 1 THEN
      (SELECT max(m.`due_at`, coalesce(`channels`.`held_until`, 0)) FROM `webhook_messages` m
        WHERE m.`channel_id` = old.`channel_id` AND m.`head` = 1 AND m.`lease` IS NULL
          AND (`channels`.`confirmed_at` IS NOT NULL OR m.`type` IN ('channel.test', 'webhook.test')) ORDER BY m.`due_at` LIMIT 1)
      ELSE `due_at` END
    WHERE `id` = old.`channel_id`;
  UPDATE `question_deliveries` SET `status` = CASE WHEN old.`attempts` = 0 THEN 'suppressed' ELSE 'failed' END,
      `reason` = CASE WHEN EXISTS (SELECT 1 FROM `channels` WHERE `id` = old.`channel_id` AND `state` <> 'gone') THEN 'expired' ELSE 'target_removed' END
    WHERE old.`type` = 'question.created' AND `question_id` = old.`subject` AND `target_id` = old.`channel_id` AND `status` = 'queued';
END;
