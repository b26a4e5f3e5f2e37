DROP INDEX `questions_left`;--> statement-breakpoint
ALTER TABLE `questions` ADD `asking_until` integer;--> statement-breakpoint
CREATE INDEX `questions_hidden` ON `questions` (`key_id`) WHERE hidden = 1 and status = 'pending';