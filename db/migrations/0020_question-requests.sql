ALTER TABLE `questions` ADD `request_id` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `hidden` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `left_at` integer;--> statement-breakpoint
CREATE INDEX `questions_request` ON `questions` (`key_id`,`request_id`) WHERE request_id is not null;--> statement-breakpoint
CREATE INDEX `questions_left` ON `questions` (`key_id`) WHERE left_at is not null and status = 'pending';