import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Finding } from '#domain/governance/recognition/pii-kinds.ts';
import { Redactor, type PiiEntry, type RedactOptions } from './redact.ts';

type Manner = 'text' | 'maybeJson';

/** Texts that are redacted together, as plain data for transfer to a thread. */
export interface RedactionTask {
  options: Pick<RedactOptions, 'kinds' | 'phoneCountries' | 'scope' | 'tokens'>;
  texts: readonly { manner: Manner; text: string }[];
  /** Findings of a recogniser service, by text. */
  names: ReadonlyMap<string, readonly Finding[]>;
}

export interface Redacted {
  text: string;
  entries: readonly PiiEntry[];
}

export interface RedactionOutcome {
  /** In the order of the task's texts. */
  redacted: Redacted[];
  /** Texts for the recogniser service, if there is one. */
  asked: string[];
}

/** Redacts long texts off the event loop; tenants take turns. */
export interface LongTextRedactor {
  /** @throws when no turn comes in time, or the work takes too long */
  redact(tenantId: string, task: RedactionTask): Promise<RedactionOutcome>;
}

export function redactTexts(
  secrets: Pick<Secrets, 'mac'>,
  { options, texts, names }: RedactionTask,
): RedactionOutcome {
  const asked = new Set<string>();
  const find = (text: string) => {
    asked.add(text);
    return names.get(text) ?? [];
  };
  const redacted = texts.map(({ manner, text }) => {
    const redactor = new Redactor({ ...options, secrets, names: find });
    return { text: redactor[manner](text), entries: redactor.entries };
  });
  return { redacted, asked: [...asked] };
}

/** In UTF-16 units, without national phone numbers: some 20 ms of work for the worst text. */
const maxInlineLength = 16_000;

/** Whether redacting these texts would block the event loop. Each country adds another pass over numbers. */
export function isLong({ texts, options }: Pick<RedactionTask, 'texts' | 'options'>): boolean {
  const length = texts.reduce((sum, { text }) => sum + text.length, 0);
  return length * (1 + options.phoneCountries.length) > maxInlineLength;
}

/** Changes nothing, and records the texts that it was to redact. */
export class TextRecorder extends Redactor {
  readonly texts: { manner: Manner; text: string }[] = [];

  override text(text: string): string {
    this.texts.push({ manner: 'text', text });
    return text;
  }

  override maybeJson(text: string): string {
    this.texts.push({ manner: 'maybeJson', text });
    return text;
  }
}

/** A redactor that replays the outcome of a task. */
export class OutcomeReplay extends Redactor {
  readonly #redacted: Readonly<Record<Manner, ReadonlyMap<string, Redacted>>>;
  readonly #found = new Map<string, PiiEntry>();

  constructor(options: RedactOptions, { texts }: RedactionTask, { redacted }: RedactionOutcome) {
    super(options);
    const by = (wanted: Manner) =>
      new Map(
        texts.flatMap(({ manner, text }, index) => {
          const outcome = redacted[index];
          return manner === wanted && outcome !== undefined ? [[text, outcome] as const] : [];
        }),
      );
    this.#redacted = { text: by('text'), maybeJson: by('maybeJson') };
  }

  override get entries(): PiiEntry[] {
    return [...this.#found.values()];
  }

  override text(text: string): string {
    return this.#take('text', text);
  }

  override maybeJson(text: string): string {
    return this.#take('maybeJson', text);
  }

  #take(manner: Manner, text: string): string {
    const known = this.#redacted[manner].get(text);
    if (known === undefined) {
      throw new Error('The text has not been redacted yet.');
    }
    for (const entry of known.entries) {
      const before = this.#found.get(entry.token);
      this.#found.set(entry.token, { ...entry, count: entry.count + (before?.count ?? 0) });
    }
    return known.text;
  }
}
