import type { Scene } from './arena.ts'
import { kills } from './scenes/kills.ts'

/** One or more for each promise, in their order. */
export const scenes: Scene[] = [kills]
