import type { NewModel } from '#domain/capabilities/models/add-model.ts';
import type { Manner, Script } from '../support/model-script.ts';

/** The document that the search finds: one short document, so that the mark [1] cites it. */
export const knowledge = {
  filename: 'harbour-almanac.md',
  anchor: 'heading Harbour almanac',
  content:
    '# Harbour almanac\n\nThe lighthouse of Vell was lit in 1874 and is tended by two keepers and a heron.\n',
  query: 'When was the lighthouse of Vell lit?',
};

/** A model as the run plays it: its text, its handling of a prefix and its continuation strategy. */
export interface Part {
  script: Script & { manner: Manner };
  continuation: NewModel['continuation'];
  /** The vendor's own interface instead of Chat Completions. */
  wire?: 'openai';
}

const subjects = [
  'The keeper',
  'A heron',
  'The ferry',
  'Every ledger',
  'The tide',
  'An old chart',
  'The bell',
];
const verbs = ['remembers', 'carries', 'repairs', 'outlasts', 'measures', 'forgives', 'redraws'];
const objects = [
  'the northern quay',
  'seven lanterns 🏮',
  'a barrel of pitch',
  'the naïve cartographer’s error',
  'the glass of 1874 [1]',
  'two oars and a 𝄞 clef',
  'the fog over Vell\n\n',
  'whatever the storm left',
];

/**
 * Prose without repeats of sixteen characters at the places where models are interrupted: each sentence is
 * numbered.
 */
export function prose(name: string, sentences: number): string {
  const words = Array.from({ length: sentences }, (_, i) => {
    const pick = (list: string[], step: number) => list[(i * step + name.length) % list.length];
    return `${pick(subjects, 3)} ${pick(verbs, 5)} ${pick(objects, 7)}, says leaf ${name.slice(0, 3)}-${i * 37 + 11}.`;
  });
  return words.join(' ');
}

const common = { toolQuery: knowledge.query, tokenDelayMs: 18 } as const;

/** One script per manner, with its expected text. */
export const parts: readonly Part[] = [
  {
    continuation: 'prefill',
    script: {
      ...common,
      name: 'honours',
      manner: 'honours_prefix',
      toolRounds: 1,
      commentary: prose('before honours', 4),
      text: prose('honours', 18),
    },
  },
  {
    continuation: 'instruct',
    script: { ...common, name: 'restarts', manner: 'restarts', toolRounds: 1, text: prose('restarts', 16) },
  },
  {
    continuation: 'instruct',
    script: {
      ...common,
      name: 'overlaps',
      manner: 'overlaps',
      toolRounds: 2,
      commentary: prose('before overlaps', 3),
      text: prose('overlaps', 18),
    },
  },
  {
    continuation: 'instruct',
    script: {
      ...common,
      name: 'diverges',
      manner: 'diverges',
      toolRounds: 1,
      text: `To begin where it began: ${prose('diverges', 18)}`,
      alternateText: `To begin where it began: ${prose('otherwise', 17)}`,
    },
  },
  {
    continuation: 'prefill',
    script: {
      ...common,
      name: 'refuses',
      manner: 'refuses_trailing_assistant',
      toolRounds: 1,
      text: prose('refuses', 18),
    },
  },
  // Continues at the vendor without a listener, and is read again by the vendor's id.
  {
    continuation: 'reattach',
    wire: 'openai',
    script: {
      ...common,
      name: 'resumes',
      manner: 'honours_prefix',
      toolRounds: 1,
      text: prose('resumes', 18).replaceAll('[1]', ''),
    },
  },
];

/** Streams a little and then stays silent: only a deadline ends it. */
export const silent: Part = {
  continuation: 'instruct',
  script: {
    ...common,
    name: 'silent',
    manner: 'honours_prefix',
    text: prose('silent', 6),
    fail: [{ hangAfterChars: 60 }],
  },
};

/** Seconds after which a silent response ends `incomplete`. */
export const silentTimeoutSeconds = 2;
