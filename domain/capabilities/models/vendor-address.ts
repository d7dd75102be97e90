import type { ProviderKind } from './model-gateway.ts';

/** Default address of a vendor's models; null: the row must have one. */
export const vendorAddress = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  openai_compatible: null,
  builtin: null,
} as const satisfies Record<ProviderKind, string | null>;
