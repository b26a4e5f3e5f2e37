/** Styles are bundled with the page that imports them. */
declare module "*.css";
