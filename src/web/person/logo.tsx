/** The logo, as in the icon. */
export function Logo({ className = "size-8" }: { className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 64 64" className={className}>
      <rect width="64" height="64" rx="15" fill="#17564d" />
      <path
        d="M18 44V20h13.5c5.6 0 9 3 9 7.8 0 3.6-1.9 6.1-5.3 7.2L42 44M18 35.5h14"
        fill="none"
        stroke="#f4f2ec"
        strokeWidth="5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="48" cy="18" r="5.5" fill="#f0b35a" />
    </svg>
  );
}
