-- WITHOUT ROWID: one search finds the newest blocks of a task.
CREATE TABLE `task_history` (
	`task_id` text NOT NULL,
	`seq` integer NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`task_id`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `tasks` ADD `history` text;
--> statement-breakpoint
-- Also where a version without histories deletes the task.
CREATE TRIGGER `tasks_history_deleted` AFTER DELETE ON `tasks` BEGIN
	DELETE FROM `task_history` WHERE `task_id` = OLD.`id`;
END;
