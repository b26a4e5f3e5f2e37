ALTER TABLE `questions` ADD `url` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `allow_other` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `fallback` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `note` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `has_context` integer;--> statement-breakpoint
ALTER TABLE `questions` ADD `context` text;