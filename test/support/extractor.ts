import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';

/** Shared by the test files of a process: each extractor has child processes, whose start takes most of a second. */
export const extractor = createTextExtractor();
