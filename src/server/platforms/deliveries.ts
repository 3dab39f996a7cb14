import type { Platform } from '../../core/contract/platform.ts'
import { apple } from './apple.ts'
import type { Delivery } from './delivery.ts'
import { google } from './google.ts'

/** The delivery of each platform. */
export const deliveries: Record<Platform, Delivery> = { apple, google }
