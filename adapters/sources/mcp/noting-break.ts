import { passChunk, relayBody, withBody, type Pull } from '../../egress/relay-body.ts';

/** The answer with a body whose failure is reported: the client drops the cause. */
export function notingBreak(answer: Response, onBreak: () => void): Response {
  if (answer.body === null) {
    return answer;
  }
  const pull: Pull = async (...chunk) => void (await passChunk(...chunk));
  return withBody(answer, relayBody(answer.body.getReader(), pull, { onFailure: onBreak }));
}
