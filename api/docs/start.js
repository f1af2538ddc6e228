// Shows /openapi.yaml; swagger-ui-dist 5.35.0 (Apache-2.0, see LICENSE) does the rest.
window.ui = SwaggerUIBundle({
  url: "/openapi.yaml",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
