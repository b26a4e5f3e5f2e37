-- When questions ring again, and when the agent of a task counts as silent.
ALTER TABLE `accounts` ADD `nudges` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `questions` ADD `nudge_at` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `remind_at` integer;--> statement-breakpoint
CREATE INDEX `questions_nudge` ON `questions` (`nudge_at`) WHERE nudge_at is not null and status = 'pending';--> statement-breakpoint
ALTER TABLE `tasks` ADD `expect_update_within` integer;--> statement-breakpoint
ALTER TABLE `tasks` ADD `silent_due_at` integer;--> statement-breakpoint
ALTER TABLE `tasks` ADD `silent_since` integer;--> statement-breakpoint
CREATE INDEX `tasks_silent_due` ON `tasks` (`silent_due_at`) WHERE silent_due_at is not null;--> statement-breakpoint
CREATE INDEX `tasks_silent` ON `tasks` (`key_id`) WHERE silent_since is not null;
--> statement-breakpoint
-- A version without these columns changed the status: it begins or ends what is expected of the agent.
CREATE TRIGGER `tasks_silence` AFTER UPDATE OF `status` ON `tasks`
WHEN new.`expect_update_within` IS NOT NULL AND old.`status` <> new.`status`
	AND (new.`status` = 'in_progress') <> (new.`silent_due_at` IS NOT NULL OR new.`silent_since` IS NOT NULL)
BEGIN
	UPDATE `tasks` SET `silent_since` = NULL,
		`silent_due_at` = CASE WHEN new.`status` = 'in_progress' THEN new.`updated_at` + (new.`expect_update_within` + 60) * 1000 END
		WHERE `id` = new.`id`;
END;
--> statement-breakpoint
-- A request of the key ends the silence of its tasks: a job does that for those that are due, and marks the rest.
CREATE TRIGGER `keys_silence` AFTER UPDATE OF `last_used_at` ON `keys`
WHEN new.`last_used_at` > coalesce(old.`last_used_at`, 0)
BEGIN
	UPDATE `tasks` SET `silent_due_at` = new.`last_used_at`
		WHERE `id` IN (SELECT `id` FROM `tasks` WHERE `key_id` = new.`id` AND `silent_since` IS NOT NULL LIMIT 100);
END;
