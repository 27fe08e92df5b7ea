#!/usr/bin/env python3
"""The same composition as a function of another make, to measure beside: Crossplane's SDK for Python and nothing of ours.

It makes the Objects for the EphemeralCluster and for its credentials, mirrors the hub's conditions onto composite and claim,
and hands the credentials on. It has neither status nor checks, remembers nothing and protects nothing: what it costs is the
least that such a function costs. `tests/results/README.md` says how it is measured.
"""

import argparse
import os

import grpc
from crossplane.function import resource, response, runtime
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

OBJECT = "kubernetes.crossplane.io/v1alpha2"
PROVIDER_CONFIG = "testplatform-kubernetes-provider-config"
NAMESPACE = "ephemeral-cluster"
CONNECTIONS = "crossplane-connections"
KEYS = ("kubeconfig", "kubeAdminPassword")
READY = (
    "has(object.status) && has(object.status.conditions) && "
    "object.status.conditions.exists(c, c.type == 'ClusterReady' && c.status == 'True')"
)
MIRRORED = ("ProwJobCreating", "ClusterReady", "ProwJobCompleted")
STATUS = {
    "True": fnv1.STATUS_CONDITION_TRUE,
    "False": fnv1.STATUS_CONDITION_FALSE,
    "Unknown": fnv1.STATUS_CONDITION_UNKNOWN,
}


def remote(composite: dict, cluster: str) -> dict:
    """The EphemeralCluster on the hub."""
    name, labels = composite["metadata"]["name"], composite["metadata"].get("labels", {})
    spec = {"ciOperator": composite["spec"].get("ciOperator", {})}
    if composite["spec"].get("tearDownCluster"):
        spec["tearDownCluster"] = True
    return {
        "apiVersion": "ci.openshift.io/v1",
        "kind": "EphemeralCluster",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {
                "ephemeralcluster.ci.openshift.io/konflux-cluster": cluster,
                "ephemeralcluster.ci.openshift.io/konflux-tenant": labels.get("crossplane.io/claim-namespace", ""),
            },
        },
        "spec": spec,
    }


def writer(composite: dict, cluster: str) -> dict:
    """The Object that makes it."""
    return {
        "apiVersion": OBJECT,
        "kind": "Object",
        "metadata": {"name": "managed-" + composite["metadata"]["name"]},
        "spec": {
            "forProvider": {"manifest": remote(composite, cluster)},
            "providerConfigRef": {"name": PROVIDER_CONFIG},
            "readiness": {"policy": "DeriveFromCelQuery", "celQuery": READY},
            "watch": True,
        },
    }


def credentials(composite: dict, secret: str) -> dict:
    """The Object that reads its credentials; paused until the hub has named their Secret."""
    name = "credentials-" + composite["metadata"]["name"]
    target = {"apiVersion": "v1", "kind": "Secret"}
    where = {"name": secret or composite["metadata"]["name"] + "-credentials", "namespace": NAMESPACE}
    made = {
        "apiVersion": OBJECT,
        "kind": "Object",
        "metadata": {"name": name},
        "spec": {
            "managementPolicies": ["Observe"],
            "forProvider": {"manifest": {**target, "metadata": where}},
            "connectionDetails": [
                {**target, **where, "fieldPath": "data." + key, "toConnectionSecretKey": key} for key in KEYS
            ],
            "providerConfigRef": {"name": PROVIDER_CONFIG},
            "writeConnectionSecretToRef": {"name": name, "namespace": CONNECTIONS},
        },
    }
    if not secret:
        made["metadata"]["annotations"] = {"crossplane.io/paused": "true"}
    return made


class Function(grpcv1.FunctionRunnerServiceServicer):
    """Crossplane's function service."""

    async def RunFunction(  # noqa: N802
        self, req: fnv1.RunFunctionRequest, _: grpc.aio.ServicerContext
    ) -> fnv1.RunFunctionResponse:
        """One pass."""
        answer = response.to(req)
        composite = resource.struct_to_dict(req.observed.composite.resource)
        environment = req.required_resources.get("environment-config") or req.extra_resources.get("environment-config")
        if environment is None or not environment.items:
            response.fatal(answer, "the EnvironmentConfig is missing")
            return answer
        cluster = resource.struct_to_dict(environment.items[0].resource)["data"]["clusterName"]
        there = {}
        if "ec" in req.observed.resources:
            observed = resource.struct_to_dict(req.observed.resources["ec"].resource)
            there = observed.get("status", {}).get("atProvider", {}).get("manifest", {}).get("status", {})
        secret = there.get("secretRef", "")
        resource.update(answer.desired.resources["ec"], writer(composite, cluster))
        resource.update(answer.desired.resources["credentials"], credentials(composite, secret))
        details = req.observed.resources["credentials"].connection_details if secret else {}
        for key in KEYS:
            if key in details:
                answer.desired.composite.connection_details[key] = details[key]
        ready = all(key in details for key in KEYS)
        for name in ("ec", "credentials"):
            answer.desired.resources[name].ready = fnv1.READY_TRUE if ready else fnv1.READY_FALSE
        for said in there.get("conditions", []):
            if said["type"] in MIRRORED:
                answer.conditions.append(
                    fnv1.Condition(
                        type=said["type"],
                        status=STATUS.get(said["status"], fnv1.STATUS_CONDITION_UNKNOWN),
                        reason=said.get("reason") or said["type"],
                        message=said.get("message", ""),
                        target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
                    )
                )
        return answer


def main() -> None:
    """Serves until it is told to end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", default="127.0.0.1:9443")
    parser.add_argument("--tls-certs-dir", default=os.environ.get("TLS_SERVER_CERTS_DIR"))
    arguments = parser.parse_args()
    creds = runtime.load_credentials(arguments.tls_certs_dir)
    runtime.serve(Function(), arguments.address, creds=creds, insecure=creds is None)


if __name__ == "__main__":
    main()
