/** Views that the first load does not need, each in a script of its own. */

import { type ComponentType, lazy } from "react";
import { loadFormatter } from "../ui/prose.tsx";

/** A component that is loaded when it is first shown, or by {@link loadViews}. */
function later<Props>(load: () => Promise<ComponentType<Props>>) {
  loads.push(load);
  return lazy(async () => ({ default: await load() }));
}

const loads: (() => Promise<unknown>)[] = [
  loadFormatter,
  // A part of the account view.
  () => import("./account/channels/channel-settings.tsx"),
];

export const TasksView = later(async () => (await import("./tasks/tasks.tsx")).TasksView);
export const AgentsView = later(async () => (await import("./agents/agents.tsx")).AgentsView);
export const AgentView = later(async () => (await import("./agents/agent.tsx")).AgentView);
export const Reach = later(async () => (await import("./account/reach.tsx")).Reach);
export const QuestionHistory = later(
  async () => (await import("./questions/question-history.tsx")).QuestionHistory,
);
export const EndedQuestion = later(
  async () => (await import("./questions/ended-question.tsx")).EndedQuestion,
);
export const RefusedAnswer = later(
  async () => (await import("./questions/refused-answer.tsx")).RefusedAnswer,
);
export const ReachLine = later(async () => (await import("./account/reach-line.tsx")).ReachLine);
export const RecoveryLine = later(
  async () => (await import("./account/recovery/recovery-line.tsx")).RecoveryLine,
);
export const AccountView = later(async () => (await import("./account/account.tsx")).AccountView);
export const Consent = later(async () => (await import("./agents/consent.tsx")).Consent);
export const AwaitApproval = later(
  async () => (await import("./agents/await-approval.tsx")).AwaitApproval,
);
export const Pair = later(async () => (await import("./account/pair.tsx")).Pair);
export const AlreadySignedIn = later(
  async () => (await import("./account/pair.tsx")).AlreadySignedIn,
);
export const Created = later(
  async () => (await import("./account/recovery/save-code.tsx")).Created,
);
export const NewCode = later(
  async () => (await import("./account/recovery/save-code.tsx")).NewCode,
);
export const Invited = later(async () => (await import("./account/start.tsx")).Invited);
export const Start = later(async () => (await import("./account/start.tsx")).Start);
export const SearchView = later(async () => (await import("./search.tsx")).SearchView);
export const Permission = later(
  async () => (await import("./questions/permission.tsx")).Permission,
);
export const DraftForm = later(async () => (await import("./questions/draft-form.tsx")).DraftForm);
export const EndSignIn = later(async () => (await import("./account/end-sign-in.tsx")).EndSignIn);
export const SignOutHere = later(
  async () => (await import("./account/sign-out-here.tsx")).SignOutHere,
);
export const WriteToAgent = later(
  async () => (await import("./agents/write-to-agent.tsx")).WriteToAgent,
);
export const UndoBars = later(async () => (await import("./undo.tsx")).UndoBars);
export const Shortcuts = later(async () => (await import("./shortcuts.tsx")).Shortcuts);

/**
 * Loads all views in advance, so that they open at once, while offline, and after the server was
 * updated to another version. A view that fails to load is loaded again when it is shown.
 */
export async function loadViews(): Promise<void> {
  await Promise.allSettled(loads.map((load) => load()));
}
