import {
  byQuestion,
  fileOf,
  withAnswers,
  type Files,
  type SourceDocument,
  type TestCollection,
} from './test-collection.ts';

type Read = (name: string, files: Files) => TestCollection;

interface SmartFiles {
  documents: string;
  questions: string;
  judgements: string;
  /** Questions are judged by their place and not by their number. */
  numbered?: boolean;
}

/** The format of the SMART system: `.I` begins a record, `.T`, `.W` and other letters a field. */
export function smart({ documents, questions, judgements, numbered = false }: SmartFiles): Read {
  return (name, files) => {
    const asked = smartRecords(fileOf(files, questions)).map(({ id, fields }, index) => ({
      id: numbered ? String(index + 1) : id,
      text: tidy(fields['W'] ?? ''),
    }));
    return {
      name,
      documents: smartRecords(fileOf(files, documents)).map(({ id, fields }) => smartDocument(id, fields)),
      questions: withAnswers(asked, byQuestion(judgedPairs(fileOf(files, judgements)))),
    };
  };
}

function smartDocument(id: string, fields: Record<string, string>): SourceDocument {
  const title = tidy(fields['T'] ?? '');
  const body = tidy(fields['W'] ?? '');
  // Some texts repeat their title, others are a title alone.
  const text = body.startsWith(title) ? tidy(body.slice(title.length)) : body;
  return text === '' ? { id, title: null, text: title } : { id, title: title === '' ? null : title, text };
}

function smartRecords(text: string): { id: string; fields: Record<string, string> }[] {
  return text
    .split(/^\.I +/mu)
    .slice(1)
    .map((record) => {
      const [id = '', ...parts] = record.split(/^\.([A-Z])[ \t]*\r?\n/mu);
      const fields: Record<string, string> = {};
      for (let n = 0; n + 1 < parts.length; n += 2) fields[parts[n] ?? ''] ??= parts[n + 1] ?? '';
      return { id: String(Number(id.trim())), fields };
    });
}

/** Lines of question, document and grade; with a third number of at most 0 after them the pair was rejected. */
function* judgedPairs(text: string): Generator<[string, string]> {
  for (const line of text.split('\n')) {
    const numbers = line.trim().split(/\s+/u).map(Number);
    const [question, second, third, fourth] = numbers;
    if (question === undefined || second === undefined || Number.isNaN(question)) continue;
    if (numbers.length === 4 && second === 0 && fourth === 1) yield [String(question), String(third)];
    else if (third !== -1) yield [String(question), String(second)];
  }
}

interface NumberedFiles {
  documents: readonly string[];
  questions: string;
  judgements: string;
}

/** The format of NPL: a number, a text, a slash. */
export function slashed({ documents, questions, judgements }: NumberedFiles): Read {
  return (name, files) => {
    const records = (file: string) =>
      fileOf(files, file)
        .split(/^ *\/ *$/mu)
        .map((record) => /^\s*(\d+)\s+([\s\S]*)$/u.exec(record))
        .flatMap((found) => (found === null ? [] : [{ id: found[1]!, text: tidy(found[2]!) }]));
    const relevant = records(judgements).flatMap(({ id, text }) =>
      text.split(' ').map((document) => [id, document] as const),
    );
    return {
      name,
      documents: documents.flatMap(records).map((record) => ({ ...record, title: null })),
      questions: withAnswers(records(questions), byQuestion(relevant)),
    };
  };
}

/** LISA: a title, an empty line, an abstract, in capitals. */
export function lisa({ documents, questions, judgements }: NumberedFiles): Read {
  return (name, files) => ({
    name,
    documents: documents.flatMap((file) =>
      fileOf(files, file)
        .split(/^\*{5,}.*$/mu)
        .map((record) => /^\s*Document +(\d+)\s*\n([\s\S]*?)\n\s*\n([\s\S]*)$/u.exec(record))
        .flatMap((found) =>
          found === null
            ? []
            : [{ id: found[1]!, title: sentenceCase(found[2]!), text: sentenceCase(found[3]!) }],
        ),
    ),
    questions: withAnswers(
      fileOf(files, questions)
        .split('#')
        .map((record) => /^\s*(\d+)\s+([\s\S]*)$/u.exec(record))
        .flatMap((found) => (found === null ? [] : [{ id: found[1]!, text: sentenceCase(found[2]!) }])),
      byQuestion(
        fileOf(files, judgements)
          .split(/^Query +/mu)
          .slice(1)
          .flatMap((record) => {
            const [id = '', , ...rest] = record.split('\n');
            return rest
              .join(' ')
              .trim()
              .split(/\s+/u)
              .filter((document) => Number(document) > 0)
              .map((document) => [id.trim(), document] as const);
          }),
      ),
    ),
  });
}

/** Articles of TIME: documents are judged by their place. */
export function articles({ documents, questions, judgements }: NumberedFiles): Read {
  return (name, files) => ({
    name,
    documents: documents.flatMap((file) =>
      fileOf(files, file)
        .split(/^\*TEXT .*$/mu)
        .slice(1)
        .map((text, index) => ({
          id: String(index + 1),
          title: null,
          text: sentenceCase(text.split('*STOP')[0]!),
        })),
    ),
    questions: withAnswers(
      fileOf(files, questions)
        .split(/^\*FIND +/mu)
        .slice(1)
        .map((record) => ({
          id: String(Number.parseInt(record, 10)),
          text: sentenceCase(record.replace(/^\d+/u, '').split('*STOP')[0]!),
        })),
      byQuestion(
        fileOf(files, judgements)
          .split('\n')
          .flatMap((line) => {
            const [question, ...rest] = line.trim().split(/\s+/u);
            return rest.map((document) => [question ?? '', document] as const);
          }),
      ),
    ),
  });
}

interface SquadData {
  data: { title?: string; paragraphs: { context: string; qas: { id: string; question: string }[] }[] }[];
}

/** The format of SQuAD: each paragraph is a document, and answers its own questions alone. */
export function squad(file: string): Read {
  return (name, files) => {
    const { data } = JSON.parse(fileOf(files, file)) as SquadData;
    const paragraphs = data.flatMap((article) => article.paragraphs);
    return {
      name,
      documents: paragraphs.map(({ context }, index) => ({ id: String(index), title: null, text: context })),
      questions: paragraphs.flatMap(({ qas }, index) =>
        qas.map(({ id, question }) => ({ id, text: question, relevant: new Set([String(index)]) })),
      ),
    };
  };
}

/** Lines of a paragraph joined; paragraphs stay. */
function tidy(text: string): string {
  return text
    .split(/\n\s*\n/u)
    .map((paragraph) => paragraph.replaceAll(/\s+/gu, ' ').trim())
    .filter((paragraph) => paragraph !== '')
    .join('\n\n');
}

/** Texts in capitals as sentences: their words would be unlike those of any document of today. */
function sentenceCase(text: string): string {
  const flat = text.replaceAll(/\s+/gu, ' ').trim().toLowerCase();
  return flat.replaceAll(
    /(^|[.?!] )([a-z])/gu,
    (_, before: string, letter: string) => before + letter.toUpperCase(),
  );
}
