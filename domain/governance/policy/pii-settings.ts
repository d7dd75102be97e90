import { getCountries } from 'libphonenumber-js/max';
import { z } from 'zod';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';

export const piiModes = ['off', 'redact', 'block'] as const;

/** What a space demands for personal data, as it is stored in its policy. */
export const piiSettings = z.strictObject({
  /** `block`: a caller who sends personal data is refused; what documents and tools bring is replaced all the same. */
  mode: z.enum(piiModes).default('off'),
  kinds: z
    .array(z.enum(piiKinds))
    .min(1)
    .max(piiKinds.length)
    .default([...piiKinds]),
  /** Slugs of the tool servers that are told the values themselves. */
  restore_in_tool_arguments: z
    .array(z.string().regex(/^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$/))
    .max(100)
    .default([]),
  /** Countries (ISO 3166) whose national phone numbers are read too. */
  phone_countries: z.array(z.enum(getCountries())).max(20).default([]),
  /** Base address of a recogniser of names with Presidio's interface. */
  presidio_url: z
    .string()
    .max(2_000)
    .refine(isPlainAddress, 'must be an http or https address without credentials')
    .nullable()
    .default(null),
  /** Language of the texts, for that recogniser. */
  language: z
    .string()
    .regex(/^[a-z]{2}$/)
    .default('en'),
});

/** It is shown to whoever may read the governance, so it holds nothing secret. */
function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === '')
  );
}

export type PiiSettings = z.infer<typeof piiSettings>;

/** A space's demand, read from its policy; null when it has none, which is told without parsing anything. */
export function demandOf(policy: Record<string, unknown>): PiiSettings | null {
  if (policy.pii === undefined) {
    return null;
  }
  const settings = piiSettings.parse(policy.pii);
  return settings.mode === 'off' ? null : settings;
}

/** What a response or message was made under: it does not change with the space's settings. */
export interface Redaction extends PiiSettings {
  /** What tokens are made for: a thread, or the first response of a chain. */
  scope: string;
  /** Responses and the thread that keep what tokens stand for. */
  holders: Holder[];
}

/** Where entries are kept. */
export type Holder = { threadId: string } | { responseId: string };

export function holderId(holder: Holder): string {
  return 'threadId' in holder ? holder.threadId : holder.responseId;
}
