-- Keeps the counts of a key true whichever statement changes its tasks.
CREATE TRIGGER `tasks_counted` AFTER INSERT ON `tasks` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` + (NEW.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` + (NEW.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` + (NEW.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` + (NEW.`status` = 'cancelled')
	WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `tasks_recounted` AFTER UPDATE OF `status` ON `tasks` WHEN OLD.`status` <> NEW.`status` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` + (NEW.`status` = 'todo') - (OLD.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` + (NEW.`status` = 'in_progress') - (OLD.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` + (NEW.`status` = 'done') - (OLD.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` + (NEW.`status` = 'cancelled') - (OLD.`status` = 'cancelled')
	WHERE `id` = NEW.`key_id`;
END;
--> statement-breakpoint
CREATE TRIGGER `tasks_uncounted` AFTER DELETE ON `tasks` BEGIN
	UPDATE `keys` SET
		`tasks_todo` = `tasks_todo` - (OLD.`status` = 'todo'),
		`tasks_in_progress` = `tasks_in_progress` - (OLD.`status` = 'in_progress'),
		`tasks_done` = `tasks_done` - (OLD.`status` = 'done'),
		`tasks_cancelled` = `tasks_cancelled` - (OLD.`status` = 'cancelled')
	WHERE `id` = OLD.`key_id`;
END;
