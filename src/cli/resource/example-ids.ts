/** The ID of a project, door, or webhook in examples. */
export const PROJECT = '0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10'
/** The ID of a template in examples. */
export const TEMPLATE = '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27'
/** The ID of a pass in examples. */
export const PASS = '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33'
/** The ID of a notification or broadcast in examples. */
export const MESSAGE = '0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77'
/** The ID of a scan in examples. */
export const SCAN = '0198c7a9-4c11-7e20-b1d7-2f3a4b5c6d7e'
/** The ID of a webhook delivery in examples. */
export const DELIVERY = '0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8'
