import type { ProviderKind } from './model-gateway.ts';

/** Where a vendor's models are reached unless their rows say otherwise; null: the row must say. */
export const vendorAddress = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  openai_compatible: null,
  builtin: null,
} as const satisfies Record<ProviderKind, string | null>;
