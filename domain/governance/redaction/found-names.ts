import type { Finding } from '#domain/governance/recognition/pii-kinds.ts';
import type { PiiSettings } from '#domain/governance/policy/pii-settings.ts';
import { Redactor, type RedactOptions } from './redact.ts';
import {
  isLong,
  OutcomeReplay,
  TextRecorder,
  type LongTextRedactor,
  type RedactionOutcome,
  type RedactionTask,
} from './redact-texts.ts';

/** Findings of a recogniser service by text, and the outcome for long texts that are redacted already. */
export interface FoundNames extends ReadonlyMap<string, readonly Finding[]> {
  redacted?: readonly { task: RedactionTask; outcome: RedactionOutcome }[];
}

/** The port to a recogniser service for personal data without a form of its own. */
export interface NameRecogniser {
  /**
   * @param url the service's base address
   * @returns findings of kind `person` for each text, in order
   * @throws `RecogniserBusy` when the tenant has no place in time; the signal's reason; also when the service cannot be
   *   reached, is not allowed, or its answer is invalid
   */
  find(url: string, language: string, texts: readonly string[], search: NameSearch): Promise<Finding[][]>;
}

export interface NameSearch {
  tenantId: string;
  /** Ends the search for all texts: the service is chosen by the tenant, and may answer each as late as it likes. */
  signal: AbortSignal;
}

/** The tenant has as many searches for names as it may, and none ended in time. */
export class RecogniserBusy extends Error {
  constructor() {
    super('Too many texts are being searched for names.');
    this.name = 'RecogniserBusy';
  }
}

/** Signals that the recogniser service must be queried for these texts before the work can proceed. */
export class NamesNeeded extends Error {
  readonly settings: PiiSettings;
  /** Private, so that logging the error logs no text. */
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

/** Signals that long texts must be redacted first, off the event loop and outside a transaction. */
export class RedactionNeeded extends Error {
  readonly settings: PiiSettings;
  readonly #task: RedactionTask;

  constructor(settings: PiiSettings, task: RedactionTask) {
    super('Long texts have to be redacted first.');
    this.name = 'RedactionNeeded';
    this.settings = settings;
    this.#task = task;
  }

  get task(): RedactionTask {
    return this.#task;
  }
}

export function needsNames(settings: PiiSettings): settings is PiiSettings & { presidio_url: string } {
  return settings.presidio_url !== null && settings.kinds.includes('person');
}

/**
 * Runs redaction work with the names that a service has found. @throws `NamesNeeded` with the texts to query, when
 * there is a service without a result yet; `RedactionNeeded` for long texts that are not redacted yet
 */
export function withNames<T>(
  options: PiiSettings & Omit<RedactOptions, 'names' | 'phoneCountries'>,
  names: FoundNames | null,
  work: (redactor: Redactor) => T,
): { redactor: Redactor; result: T } {
  const asked = new Set<string>();
  const find = (text: string) => {
    asked.add(text);
    return names?.get(text) ?? [];
  };
  const all = { ...options, phoneCountries: options.phone_countries, names: find };
  const redactor = replayOfLong(all, names, work) ?? new Redactor(all);
  const result = work(redactor);
  const open = [...asked].filter((text) => isUnknown(text, names));
  if (needsNames(options) && open.length > 0) {
    throw new NamesNeeded(options, open);
  }
  return { redactor, result };
}

/** null: the texts are short. @throws `RedactionNeeded` */
function replayOfLong(
  all: PiiSettings & RedactOptions,
  names: FoundNames | null,
  work: (redactor: Redactor) => unknown,
): Redactor | null {
  const recorder = new TextRecorder(all);
  work(recorder);
  const { texts } = recorder;
  const { kinds, phoneCountries, scope, tokens } = all;
  const options = { kinds, phoneCountries, scope, tokens };
  if (!isLong({ texts, options })) {
    return null;
  }
  const done = names?.redacted?.find(({ task }) => isSame(task, { options, texts }));
  if (done === undefined) {
    throw new RedactionNeeded(all, { options, texts, names: new Map(names ?? []) });
  }
  return new OutcomeReplay(all, done.task, done.outcome);
}

function isSame(done: RedactionTask, wanted: Pick<RedactionTask, 'options' | 'texts'>): boolean {
  return (
    JSON.stringify(done.options) === JSON.stringify(wanted.options) &&
    done.texts.length === wanted.texts.length &&
    done.texts.every(({ manner, text }, index) => {
      const other = wanted.texts[index];
      return manner === other?.manner && text === other.text;
    })
  );
}

function isUnknown(text: string, names: FoundNames | null): boolean {
  return text.trim() !== '' && names?.has(text) !== true;
}

/** Queries the recogniser service. @throws any error of the service */
export async function findNames(
  recogniser: NameRecogniser,
  { settings, texts }: Pick<NamesNeeded, 'settings' | 'texts'>,
  search: NameSearch,
): Promise<FoundNames> {
  const found = await recogniser.find(settings.presidio_url ?? '', settings.language, texts, search);
  return new Map(texts.map((text, index) => [text, found[index] ?? []]));
}

/** Redacts long texts, including the names in them. @throws any error of the service and of the redactor */
export async function redactBeforehand(
  { names: recogniser, longTexts }: { names: NameRecogniser; longTexts: LongTextRedactor },
  search: NameSearch,
  { needed: { settings, task }, known }: { needed: RedactionNeeded; known: FoundNames | null },
): Promise<FoundNames> {
  const { tenantId } = search;
  let names: FoundNames = new Map(known ?? []);
  let done = { task, outcome: await longTexts.redact(tenantId, task) };
  const open = done.outcome.asked.filter((text) => isUnknown(text, names));
  if (needsNames(settings) && open.length > 0) {
    names = new Map([...names, ...(await findNames(recogniser, { settings, texts: open }, search))]);
    const named = { ...task, names };
    done = { task: named, outcome: await longTexts.redact(tenantId, named) };
  }
  return Object.assign(new Map(names), { redacted: [...(known?.redacted ?? []), done] });
}
