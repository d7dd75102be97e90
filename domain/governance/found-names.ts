import type { Finding } from './pii-kinds.ts';
import type { PiiSettings } from './pii-settings.ts';
import { Redactor, type RedactOptions } from './redact.ts';

/** What a recogniser service has found, by text. */
export type FoundNames = ReadonlyMap<string, readonly Finding[]>;

/** A recogniser service for what has no form of its own. */
export interface NameRecogniser {
  /**
   * @param url the service's base address
   * @returns findings of kind `person` for each text, in order
   * @throws when it cannot be reached, is not allowed to be, or answers wrongly
   */
  find(url: string, language: string, texts: readonly string[]): Promise<Finding[][]>;
}

/** The recogniser service has to be asked about these texts before the work can be done. */
export class NamesNeeded extends Error {
  readonly settings: PiiSettings;
  /** Private, so that whoever logs the error logs none of them. */
  readonly #texts: readonly string[];

  constructor(settings: PiiSettings, texts: readonly string[]) {
    super('Texts have to be shown to the recogniser of names first.');
    this.name = 'NamesNeeded';
    this.settings = settings;
    this.#texts = texts;
  }

  get texts(): readonly string[] {
    return this.#texts;
  }
}

export function needsNames(settings: PiiSettings): settings is PiiSettings & { presidio_url: string } {
  return settings.presidio_url !== null && settings.kinds.includes('person');
}

/**
 * Does a piece of redaction with the names that a service has found. @throws `NamesNeeded` with the texts to ask
 * about, when there is a service and it was not asked yet
 */
export function withNames<T>(
  options: PiiSettings & Omit<RedactOptions, 'names' | 'phoneCountries'>,
  names: FoundNames | null,
  work: (redactor: Redactor) => T,
): { redactor: Redactor; result: T } {
  const asked = new Set<string>();
  const redactor = new Redactor({
    ...options,
    phoneCountries: options.phone_countries,
    names: (text) => {
      asked.add(text);
      return names?.get(text) ?? [];
    },
  });
  const result = work(redactor);
  const open = [...asked].filter((text) => text.trim() !== '' && names?.has(text) !== true);
  if (needsNames(options) && open.length > 0) {
    throw new NamesNeeded(options, open);
  }
  return { redactor, result };
}

/** Asks the service about texts. @throws what the service throws */
export async function findNames(
  recogniser: NameRecogniser,
  { settings, texts }: NamesNeeded,
): Promise<FoundNames> {
  const found = await recogniser.find(settings.presidio_url ?? '', settings.language, texts);
  return new Map(texts.map((text, index) => [text, found[index] ?? []]));
}
