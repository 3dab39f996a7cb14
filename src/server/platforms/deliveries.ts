import type { Platform } from '../../core/contract/platform.ts'
import { apple, appleSetup } from './apple-delivery.ts'
import type { Delivery } from './delivery.ts'
import { google, googleSetup } from './google-delivery.ts'

/** The delivery of each platform. */
export const deliveries: Record<Platform, Delivery> = { apple, google }

/** The identity of the flags for each platform. */
export const setups = { apple: appleSetup, google: googleSetup } satisfies Record<Platform, unknown>
