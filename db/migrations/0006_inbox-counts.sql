-- Keeps the number of unread items of a key true whichever statement changes its inbox.
CREATE TRIGGER `items_counted` AFTER INSERT ON `items` WHEN NEW.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` + 1 WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `items_read` AFTER UPDATE OF `read_at` ON `items` WHEN OLD.`read_at` IS NULL AND NEW.`read_at` IS NOT NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `items_uncounted` AFTER DELETE ON `items` WHEN OLD.`read_at` IS NULL BEGIN
	UPDATE `keys` SET `unread` = `unread` - 1 WHERE `id` = OLD.`key_id`;
END;
