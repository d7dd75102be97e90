import { cleanText } from '#domain/foundation/kernel/clean-text.ts';

/** Words that address the answerer and not the subject of the question. */
const courtesy =
  /\b(please|tell|explain|describe|show|give|know|want|need|like|find|say|says|said|according|documents?|question|answer|hello|hi|hey|thanks?|thank)\b/giu;

/** Max length of a question, in UTF-16 units. */
export const maxQuestionLength = 4_000;

/** The part of a question that a passage can contain. */
export function contentOf(question: string): string {
  const bounded = cleanText(question.slice(0, maxQuestionLength));
  const content = bounded.replace(courtesy, ' ').trim();
  return content === '' ? bounded : content;
}
