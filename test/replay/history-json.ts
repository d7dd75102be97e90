import { historyFromJson, historyToJson, type History } from '#temporal/history-json.ts';
import type { RecordedHistory } from './history-reader.ts';

export type { History };

/** The proto's JSON form with the types that the tests read. */
export function toRecorded(history: History): RecordedHistory {
  return historyToJson(history) as RecordedHistory;
}

export function fromRecorded(recorded: RecordedHistory): History {
  return historyFromJson(recorded);
}
