/** A public collection of documents with questions, and which documents answer them. */
export interface TestCollection {
  name: string;
  documents: SourceDocument[];
  questions: Question[];
}

export interface SourceDocument {
  id: string;
  title: string | null;
  text: string;
}

export interface Question {
  id: string;
  text: string;
  /** Ids of the documents that answer it. */
  relevant: Set<string>;
}

/** Files of a collection by name, as text. */
export type Files = Readonly<Record<string, string>>;

export function fileOf(files: Files, name: string): string {
  const text = files[name];
  if (text === undefined) throw new Error(`${name} was not fetched.`);
  return text;
}

/** Questions without any relevant document say nothing about a search. */
export function withAnswers(
  questions: readonly { id: string; text: string }[],
  relevant: ReadonlyMap<string, Set<string>>,
): Question[] {
  return questions.flatMap(({ id, text }) => {
    const found = relevant.get(id);
    return found === undefined || text.trim() === '' ? [] : [{ id, text, relevant: found }];
  });
}

/** Pairs of a question's and a document's id as sets by question. */
export function byQuestion(pairs: Iterable<readonly [string, string]>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [question, document] of pairs) {
    const set = found.get(question) ?? new Set();
    found.set(question, set.add(document));
  }
  return found;
}
