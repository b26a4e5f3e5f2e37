/** The frame of the pages without a bundle. */

export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

interface HtmlPage {
  readonly title: string;
  /** Addresses of style sheets. */
  readonly styles: readonly string[];
  /** Further lines of the head, as HTML. */
  readonly head?: string;
  /** HTML. */
  readonly body: string;
}

export const htmlPage = ({ title, styles, head = "", body }: HtmlPage): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
${styles.map((style) => `<link rel="stylesheet" href="${style}">\n`).join("")}${head}</head>
<body>
${body}
</body>
</html>
`;
