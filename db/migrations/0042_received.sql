ALTER TABLE `items` ADD `received_at` integer;--> statement-breakpoint
CREATE INDEX `items_unreceived` ON `items` (`question_id`) WHERE question_id is not null and read_at is null and received_at is null;--> statement-breakpoint
ALTER TABLE `keys` ADD `received` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
CREATE TRIGGER `items_received` AFTER UPDATE OF `received_at` ON `items`
WHEN OLD.`received_at` IS NULL AND NEW.`received_at` IS NOT NULL AND NEW.`read_at` IS NULL BEGIN
  UPDATE `keys` SET `received` = `received` + 1 WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `items_received_read` AFTER UPDATE OF `read_at` ON `items`
WHEN OLD.`received_at` IS NOT NULL AND OLD.`read_at` IS NULL AND NEW.`read_at` IS NOT NULL BEGIN
  UPDATE `keys` SET `received` = `received` - 1 WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `items_received_uncounted` AFTER DELETE ON `items`
WHEN OLD.`received_at` IS NOT NULL AND OLD.`read_at` IS NULL BEGIN
  UPDATE `keys` SET `received` = `received` - 1 WHERE `id` = OLD.`key_id`;
END;
