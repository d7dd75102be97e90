/** Kinds of personal data that are recognised by their form. */
export const formKinds = ['email', 'phone', 'iban', 'card', 'ip', 'api_key'] as const;
/** `person`: names, which only a recogniser service finds. */
export const piiKinds = [...formKinds, 'person'] as const;
export type PiiKind = (typeof piiKinds)[number];

/** A range of a text, in UTF-16 offsets. */
export interface Finding {
  kind: PiiKind;
  start: number;
  end: number;
}
