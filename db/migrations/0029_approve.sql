ALTER TABLE `questions` ADD `action` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `action_turn` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `action_digest` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `action_calls` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `action_left` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `action_text` text;--> statement-breakpoint
CREATE INDEX `questions_action` ON `questions` (`key_id`) WHERE action is not null and status = 'pending';