import { getCountries } from 'libphonenumber-js/max';
import { z } from 'zod';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';

export const piiModes = ['off', 'redact', 'block'] as const;

/** A space's settings for personal data, as its policy stores them. */
export const piiSettings = z.strictObject({
  /**
   * `block`: a request with personal data is refused; personal data in documents and tool results is still replaced.
   */
  mode: z.enum(piiModes).default('off'),
  kinds: z
    .array(z.enum(piiKinds))
    .min(1)
    .max(piiKinds.length)
    .default([...piiKinds]),
  /** Slugs of the tool servers whose calls include the real values. */
  restore_in_tool_arguments: z
    .array(
      z
        .string()
        .regex(/^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$/, 'must be the slug of a tool server, such as team-wiki')
        .meta({ examples: ['team-wiki'] }),
    )
    .max(100)
    .default([]),
  /** Countries (ISO 3166) whose national phone numbers are recognised too. */
  phone_countries: z.array(z.enum(getCountries())).max(20).default([]),
  /** Base address of a recogniser of names with Presidio's API. */
  presidio_url: z
    .string()
    .max(2_000)
    .refine(isPlainAddress, 'must be an http or https address without credentials')
    .nullable()
    .default(null),
  /** Language of the texts, for that recogniser. */
  language: z
    .string()
    .regex(/^[a-z]{2}$/, 'must be two letters of ISO 639, such as en')
    .meta({ examples: ['en'] })
    .default('en'),
});

/** Without credentials, because readers of the governance see it. */
function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === '')
  );
}

export type PiiSettings = z.infer<typeof piiSettings>;

/** A space's settings, from its policy; null when it has none, which needs no parsing. */
export function demandOf(policy: Record<string, unknown>): PiiSettings | null {
  if (policy.pii === undefined) {
    return null;
  }
  const settings = piiSettings.parse(policy.pii);
  return settings.mode === 'off' ? null : settings;
}

/** The settings of a response or message when it was created: later changes of the space do not affect it. */
export interface Redaction extends PiiSettings {
  /** The conversation of the tokens: a thread, or the first response of a chain. */
  scope: string;
  /** The responses and the thread that store the mapping of tokens to values. */
  holders: Holder[];
}

/** The owner of stored entries. */
export type Holder = { threadId: string } | { responseId: string };

export function holderId(holder: Holder): string {
  return 'threadId' in holder ? holder.threadId : holder.responseId;
}
