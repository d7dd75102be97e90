import { readFileSync } from 'node:fs';

interface ProcessorTime {
  total: number;
  idle: number;
  stolen: number;
}

/** Processor time of the machine since its start, in the kernel's clock ticks. */
export function processorTime(): ProcessorTime {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks;
  return { total: ticks.reduce((sum, each) => sum + each, 0), idle: idle + waiting, stolen };
}

/**
 * Shares of all processors' time since `before`, 0 to 1: idle time, and time that the machine's host gave to
 * others.
 */
export function sharesSince(before: ProcessorTime): { idle: number; stolen: number } {
  const now = processorTime();
  const total = Math.max(1, now.total - before.total);
  return { idle: (now.idle - before.idle) / total, stolen: (now.stolen - before.stolen) / total };
}
