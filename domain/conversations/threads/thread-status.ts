export const threadStatuses = ['active', 'archived', 'deleted'] as const;
export type ThreadStatus = (typeof threadStatuses)[number];

/** Visible statuses; a deleted thread is treated as unknown. */
export const shownThreadStatuses = ['active', 'archived'] as const;

const next: Readonly<Record<ThreadStatus, readonly ThreadStatus[]>> = {
  active: ['archived', 'deleted'],
  archived: ['active', 'deleted'],
  deleted: [],
};

export function canBecome(from: ThreadStatus, to: ThreadStatus): boolean {
  return next[from].includes(to);
}

export const messageRoles = ['user', 'assistant', 'system'] as const;
export type MessageRole = (typeof messageRoles)[number];

export const messageStatuses = ['completed', 'streaming', 'failed'] as const;
export type MessageStatus = (typeof messageStatuses)[number];

/** Lengths in UTF-16 units. */
export const threadLimits = { title: 200, content: 1_000_000, metadata: 16 } as const;
