ALTER TABLE `questions` ADD `answered_from` text;--> statement-breakpoint
ALTER TABLE `questions` ADD `answered_by_api` integer;